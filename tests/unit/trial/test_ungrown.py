"""Sizes with which all buffers fit into their size in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial import Outcome
from gi_cuda.trial.large import TryLarge
from gi_cuda.trial.mending.ungrown import with_buffers_as_they_were
from gi_cuda.trial.troubles import Brief, Slow, Trouble, Unjudged
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    Simulated,
    answering,
    beside,
    buffer,
    changes,
    proposal,
)


def grown(first: str, now: str) -> tuple[ProposedBuffer, ProposedBuffer]:
    """Two buffers that were grown."""
    return (
        buffer("a", elements=now, grown=first),
        buffer("b", "output", elements=now, grown=first),
    )


def ungrown(first: str) -> Changes:
    """Both as they were."""
    both = {f"{name}.elements": first for name in "ab"}
    return {**both, "a.grown": "", "b.grown": ""}


LINE = proposal(N, *grown("n", "n + 105"))
ROWS: dict[str, tuple[Proposal, dict[str, str], Changes, str]] = {
    "what grew for other data is as it was": (
        LINE,
        {"a": "n", "b": "n"},
        ungrown("n"),
        "buffers as they were",
    ),
    "more than the source has, whatever the sizes": (LINE, {"b": "n + 60"}, {}, ""),
}


@pytest.mark.parametrize("name", ROWS)
def test_buffers_are_as_the_source_has_them_with_other_sizes(name: str) -> None:
    before, needs, expected, said = ROWS[name]
    attempt = Simulated(needs).attempt
    outcome = Outcome(before, None, ("before",))
    found = with_buffers_as_they_were(outcome, attempt, lambda _: None)
    assert changes(before, found.proposal) == expected
    assert found.done == (("before", said) if said else ("before",))


def test_elements_in_front_for_neighbours_stay() -> None:
    before = proposal(N, buffer("a", begin="2048"), B)
    outcome = Outcome(before, None)
    assert with_buffers_as_they_were(outcome, answering(), lambda _: None) == outcome


LARGE: dict[str, tuple[TryLarge, bool]] = {
    "they run": (lambda _: None, True),
    "they are short": (lambda _: Brief(1e-3), True),
    "they take long, and end": (lambda _: Slow("large", 9.0, over=False), True),
    "they do not end": (lambda _: Slow("large", 9.0, over=True), False),
    "they go beyond buffers": (lambda _: beside(b=4), False),
}


@pytest.mark.parametrize("name", LARGE)
def test_the_cases_for_a_gpu_must_run_as_well(name: str) -> None:
    large, taken = LARGE[name]
    outcome = Outcome(LINE, None)
    found = with_buffers_as_they_were(outcome, Simulated({}).attempt, large)
    assert (found != outcome) is taken


@pytest.mark.parametrize(
    ("answers", "taken"),
    [
        ([Brief(1e-5), Brief(1e-5)], True),
        ([Brief(1e-5), None, *[Brief(1e-5)] * 2], False),
        ([Unjudged()] * 3, False),
    ],
)
def test_it_does_as_well_as_with_larger_buffers(
    answers: Sequence[Trouble | None], taken: bool
) -> None:
    outcome = Outcome(LINE, None)
    found = with_buffers_as_they_were(outcome, answering(*answers), lambda _: None)
    assert (found != outcome) is taken


@pytest.mark.parametrize(
    "outcome", [Outcome(LINE, Unjudged()), Outcome(replace(LINE, buffers=(A, B)), None)]
)
def test_nothing_is_tried_of_what_fails_or_did_not_grow(outcome: Outcome) -> None:
    assert with_buffers_as_they_were(outcome, answering(), lambda _: None) == outcome
