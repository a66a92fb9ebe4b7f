"""Sizes for which each case has several blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gi_cuda.init import Proposal
from gi_cuda.results.measurement import Survival
from gi_cuda.trial import Outcome
from gi_cuda.trial.mending.blocks import with_several_blocks
from gi_cuda.trial.troubles import Brief, Died, Slow, Trouble, Unjudged
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    answering,
    changes,
    proposal,
    size,
)

FEW = size("n", 100, 80, 1 << 20)
GRID: dict[str, Any] = {"grid": ("(n + 1023) / 1024",), "block": ("1024",)}
VOLUME = (size("n", 12, 10, 32), size("w", 64, 48, 64), size("h", 40, 33, 64), A, B)
SLOW, DIED = Slow("train", 0.1, over=False), Died("train", Survival.CRASHED, 11, "")

ROWS: dict[str, tuple[Proposal, Sequence[Trouble | None], Changes]] = {
    "twice as much data is two blocks": (proposal(FEW, A, B), [None], {"n": (200, 160, 1 << 20)}),
    "a launch may still be too short to be timed": (
        proposal(FEW, A, B),
        [Brief(1e-5)],
        {"n": (200, 160, 1 << 20)},
    ),
    "other sizes get smaller, and a GPU has 32 times as much": (
        proposal(*VOLUME, **GRID),
        [None],
        {"n": (1536, 1280, 49152), "w": (32, 24, 64), "h": (20, 16, 64)},
    ),
    "it stays as it was where that does not pass": (proposal(*VOLUME, **GRID), [DIED], {}),
    "the held-out case has one block": (
        proposal(size("n", 200, 100, 1 << 20), A, B),
        [None],
        {"n": (400, 200, 1 << 20)},
    ),
    "there are several already": (proposal(N, A, B), [], {}),
    "no size says how many there are": (proposal(A, B, grid=("1",)), [], {}),
    "a size that may not grow": (proposal(size("n", 100, 80, 1 << 20, most=100), A, B), [], {}),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_case_gets_several_blocks(name: str) -> None:
    before, answers, expected = ROWS[name]
    found = with_several_blocks(Outcome(before, None), answering(*answers))
    assert changes(before, found.proposal) == expected
    assert found.done == (("several blocks",) if expected else ())


def test_nothing_is_tried_of_what_fails() -> None:
    outcome = Outcome(proposal(FEW, A, B), Unjudged())
    assert with_several_blocks(outcome, answering()) == outcome
