"""Starts that a grammar cannot express."""

from __future__ import annotations

import pytest

from gi_cuda.errors import UserError
from gi_cuda.subject import Start, Subject


def test_a_winner_of_another_set_of_edits_is_refused_with_a_hint(scale: Subject) -> None:
    start = Start("individual 3 of runs/x", "<op_kernel.cu_18><op_kernel.cu_18.2>", "full")
    with pytest.raises(UserError, match="it cannot be told in this grammar") as caught:
        scale.starting(start)
    assert caught.value.where == "individual 3 of runs/x"
    assert caught.value.hint == "it was found with --edits full"


def test_a_start_is_its_genotype(scale: Subject) -> None:
    text = "BLOCK=128 <_kernel.cu_27>"
    assert str(scale.starting(Start("it", text, "paper"))) == text
