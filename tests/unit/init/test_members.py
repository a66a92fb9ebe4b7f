"""Guessed scalars, and structs split into members."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init.proposing.members import ProposedScalar, set_apart


def test_no_two_guesses_of_real_numbers_are_the_same() -> None:
    real, whole = Element("float32"), Element("int32")
    guesses = [ProposedScalar.guessed(f"s{n}", real) for n in range(40)]
    said = ProposedScalar("dt", real, 0.5, source=True)
    count = ProposedScalar.guessed("n", whole)
    *apart, kept, same = set_apart([*guesses, said, count])
    assert len({one.value for one in apart}) == len(guesses)
    assert apart[0].value == 0.5
    assert (kept, same) == (said, count)


STRIDE = ProposedScalar("stride", Element("int32"), 2, source=True)


@pytest.mark.parametrize(
    ("scalar", "usual"),
    [
        (STRIDE, 2),
        (replace(STRIDE, value=64), 64),
        (replace(STRIDE, value=65), None),
        (replace(STRIDE, value=-1), None),
        (replace(STRIDE, source=False), None),
        (replace(STRIDE, varied=True), None),
        (replace(STRIDE, computed="width / 2"), None),
        (replace(STRIDE, member="shape.stride"), None),
        (replace(STRIDE, element=Element("float32")), None),
    ],
)
def test_a_small_integer_of_the_host_code_is_usual(
    scalar: ProposedScalar, usual: int | None
) -> None:
    assert scalar.usual == usual
