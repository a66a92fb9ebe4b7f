"""Outputs with a few elements, however much data there is."""

from __future__ import annotations

import math

import pytest

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.access import Access
from gi_cuda.trial import Outcome
from gi_cuda.trial.few import with_few_items
from gi_cuda.trial.troubles import Trouble, Unjudged
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    Simulated,
    answering,
    buffer,
    changes,
    proposal,
    size,
)

COUNTER = buffer("count", "inout", "int32", access=Access.ATOMIC)

ROWS: dict[str, tuple[Proposal, dict[str, str], Changes]] = {
    "one number in all cases": (proposal(N, A, B), {"b": "6"}, {"b.elements": "6"}),
    "a single element": (proposal(N, A, B), {"b": "1"}, {"b.elements": "1"}),
    "an element for each block": (
        proposal(N, A, B),
        {"b": "blocks"},
        {"b.elements": "(n + 128 - 1) / 128"},
    ),
    "an element for each block of a plane": (
        proposal(N, A, B, grid=("n / 128", "2")),
        {"b": "blocks"},
        {"b.elements": "(n / 128) * 2"},
    ),
    "an accumulator": (
        proposal(N, A, COUNTER),
        {"count": "8"},
        {"count.elements": "8"},
    ),
    "an element for each element of the data": (proposal(N, A, B), {"b": "n"}, {}),
    "more than half of the elements": (proposal(N, A, B), {"b": "6000"}, {}),
    "neither a number nor the number of blocks": (proposal(N, A, B), {"b": "n / 100"}, {}),
    "the source says how large it is": (
        proposal(N, A, buffer("b", "output", elements="n")),
        {"b": "6"},
        {},
    ),
    "an input stays": (proposal(N, A, B), {"a": "6", "b": "n"}, {}),
    "whole numbers may say how far the kernel goes": (
        proposal(N, buffer("a", kind="int32"), B),
        {"b": "6"},
        {},
    ),
    "cases of one size do not tell": (proposal(size("n", 64, 64, 64), A, B), {"b": "6"}, {}),
}


@pytest.mark.parametrize("name", ROWS)
def test_an_output_has_as_many_elements_as_the_kernel_writes(name: str) -> None:
    before, needs, expected = ROWS[name]
    found = with_few_items(Outcome(before, None), Simulated(needs).attempt, math.inf)
    assert changes(before, found.proposal) == expected
    notes = {one.name: one.notes.size for one in found.proposal.buffers if one.notes.size}
    assert notes == {path.partition(".")[0]: "as far as the kernel goes" for path in expected}


@pytest.mark.parametrize(("trouble", "until"), [(Unjudged(), math.inf), (None, 0.0)])
def test_nothing_is_tried_of_what_fails_or_without_time(
    trouble: Trouble | None, until: float
) -> None:
    outcome = Outcome(proposal(N, A, B), trouble)
    assert with_few_items(outcome, answering(), until) == outcome
