"""The seeds that ``repeat`` reads, and the sentence about what runs found together."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from gi_cuda.analyze.stored.listing import Listed, Standing
from gi_cuda.cli.search.repeat import read_seeds
from gi_cuda.errors import UserError
from gi_cuda.report.results.runs import found_words
from gi_cuda.results.speed_up import SpeedUp


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", [3]), ("1..4", [1, 2, 3, 4]), ("1,4,7..9", [1, 4, 7, 8, 9]), ("5, 1..2,2", [5, 1, 2])],
)
def test_seeds_are_numbers_and_ranges(text: str, seeds: list[int]) -> None:
    assert read_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "1-10", "10..1", "1..", "1..100000", "-1", "1,,2", "all"])
def test_what_names_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="names no seeds, or more than 1000"):
        read_seeds(text)


def listed(winner: float | None) -> Listed:
    found = None if winner is None else SpeedUp(winner, winner, winner)
    standing = Standing("t", "host", "a CPU", 1, 1, found, found, busy=False, validated=True)
    return Listed(Path("run"), datetime(2026, 1, 1), standing)


def test_a_run_without_a_winner_counts_as_no_faster_than_the_reference() -> None:
    assert found_words([listed(one) for one in (1.2, None, 1.5)]) == (
        "2 of 3 runs have a winner; speed-up on the held-out cases, 1 without a winner: median"
        " 1.200, best 1.500, worst 1.000"
    )
    assert found_words([Listed(Path("run"), datetime(2026, 1, 1), "locked")]) == (
        "no run can be read"
    )
