"""How long a search may take of the time that a command is given."""

from __future__ import annotations

import pytest

from gi_cuda.cli.searching import Allowance


@pytest.mark.parametrize(
    ("seconds", "spent", "baseline", "left"),
    [
        (100, 8, 7, 57),  # five baselines to validate
        (100, 2, 7, 63),  # resumed: the baseline was made before
        (30, 9, 9, 10),  # a third at least
        (30, 60, 60, 10),
        (0, 5, 5, 0),
    ],
)
def test_a_search_gets_what_preparing_and_validating_leave(seconds, spent, baseline, left) -> None:
    assert Allowance(seconds).for_search(spent, baseline) == left


def test_without_a_limit_a_search_has_none() -> None:
    assert Allowance(None).for_search(9, 9) is None
