"""Buffers with only the combinations of sizes that the kernel uses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gi_cuda.init import Proposal
from gi_cuda.trial import Outcome
from gi_cuda.trial.mending.tight_buffers import with_tight_buffers
from gi_cuda.trial.troubles import Brief, Trouble, Unjudged
from tests.unit.trial.proposals import (
    A,
    Changes,
    N,
    Simulated,
    answering,
    buffer,
    changes,
    proposal,
    size,
)

SIZES = (size("m", 28, 22, 128), size("n", 25, 31, 128), size("l", 21, 19, 128))
PLANE: dict[str, Any] = {"grid": ("(n + 7) / 8", "(m + 7) / 8"), "block": ("8", "8")}
B, C = buffer("b"), buffer("c", "output")
PRODUCT = proposal(*SIZES, A, B, C, **PLANE)

ROWS: dict[str, tuple[Proposal, dict[str, str], Changes]] = {
    "a product of matrices": (
        PRODUCT,
        {"a": "m * l", "b": "n * l", "c": "m * n"},
        {"a.elements": "m * l", "b.elements": "n * l", "c.elements": "m * n"},
    ),
    "a single size": (
        PRODUCT,
        {"a": "l", "b": "m * n * l", "c": "n"},
        {"a.elements": "l", "c.elements": "n"},
    ),
    "all sizes together": (PRODUCT, dict.fromkeys("abc", "m * n * l"), {}),
    "sizes that the source says stay": (
        proposal(*SIZES, buffer("a", elements="m * n * l"), B, C, **PLANE),
        {"a": "m", "b": "n * l", "c": "m * n"},
        {"b.elements": "n * l", "c.elements": "m * n"},
    ),
    "whole numbers may say how far the kernel goes": (
        proposal(*SIZES, A, buffer("b", kind="int32"), C, **PLANE),
        {"a": "m"},
        {},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_buffer_is_as_large_as_the_kernel_goes(name: str) -> None:
    before, needs, expected = ROWS[name]
    found = with_tight_buffers(Outcome(before, None), Simulated(needs).attempt, math.inf)
    assert changes(before, found.proposal) == expected
    notes = {one.name: one.notes.size for one in found.proposal.buffers if one.notes.size}
    assert notes == {path[0]: "as far as the kernel goes" for path in expected}


def test_a_launch_may_be_as_short_as_it_was() -> None:
    brief = Brief(1e-5)
    outcome = Outcome(PRODUCT, None)
    found = with_tight_buffers(outcome, answering(brief, brief), math.inf)
    assert changes(PRODUCT, found.proposal) == {f"{one}.elements": "l" for one in "abc"}
    assert with_tight_buffers(outcome, answering(brief, None, *[brief] * 5), math.inf) == outcome


@pytest.mark.parametrize(
    ("before", "trouble", "until"),
    [
        (PRODUCT, Unjudged(), math.inf),
        (PRODUCT, None, 0.0),
        # With one size there is nothing to choose.
        (proposal(N, A, C), None, math.inf),
    ],
)
def test_nothing_is_tried_of_what_fails_or_without_time(
    before: Proposal, trouble: Trouble | None, until: float
) -> None:
    outcome = Outcome(before, trouble)
    assert with_tight_buffers(outcome, answering(), until) == outcome
