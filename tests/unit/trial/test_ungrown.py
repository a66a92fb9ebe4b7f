"""Sizes with which no buffer is larger than the source has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.grammar import SourceLine
from gi_cuda.init import Proposal
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial import Outcome
from gi_cuda.trial.facts import names, on_host
from gi_cuda.trial.large import TryLarge
from gi_cuda.trial.troubles import Brief, Slow, Trouble, Unjudged
from gi_cuda.trial.ungrown import with_buffers_as_they_were
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    Part,
    Simulated,
    answering,
    beside,
    buffer,
    changes,
    proposal,
    scalar,
    size,
)

IN_FRONT = 2**32 - POISON
"""Elements in front of a buffer, where an index is poison."""


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


def image(nx: int, ny: int, *more: Part) -> Proposal:
    """A proposal for host code that has so many columns and rows."""
    values = {"nx": nx, "ny": ny}
    site = LaunchSite(SourceLine("k.cu", 9), None, None, None, values=values)
    sizes = (size("nx", 128, 64, 1024), size("ny", 64, 192, 256))
    scalars = [scalar(name, value, source=True) for name, value in values.items()]
    return proposal(
        *(*sizes, *scalars, *grown("nx * ny", "nx * ny * 2"), *more),
        grid=("(nx + 31) / 32", "(ny + 31) / 32"),
        block=("32", "32"),
        use=site,
    )


LINE = proposal(N, *grown("n", "n + 105"))
PLANE = proposal(
    *(size("n", 121, 75, 1024), size("m", 90, 102, 1024), *grown("n * m", "n * m * 2")),
    grid=("(n + 15) / 16", "(m + 15) / 16"),
    block=("16", "16"),
)
ROWS_BY_COLUMNS = {"a": "nx + (ny - 1) * ny", "b": "nx + (ny - 1) * ny"}
"""The kernel takes the number of rows for that of columns."""

ROWS: dict[str, tuple[Proposal, dict[str, str], Changes, str]] = {
    "what grew for other data is as it was": (
        LINE,
        {"a": "n", "b": "n"},
        ungrown("n"),
        "buffers as they were",
    ),
    "whole blocks where the kernel does not check": (
        LINE,
        {"a": "threads", "b": "threads"},
        {**ungrown("n"), "n": (10112, 7808, 1 << 20)},
        "sizes that are whole blocks",
    ),
    "whole blocks of one size alone where that is enough": (
        PLANE,
        {"a": "(n + 15) / 16 * 16 * m", "b": "n * m"},
        {**ungrown("n * m"), "n": (128, 256, 1024)},
        "n in whole blocks",
    ),
    "whole blocks of all sizes, of which no two cases are alike": (
        PLANE,
        dict.fromkeys("ab", "(n + 15) / 16 * 16 * ((m + 15) / 16 * 16)"),
        {**ungrown("n * m"), "n": (256, 256, 1024), "m": (128, 512, 1024)},
        "sizes that are whole blocks",
    ),
    "one number for sizes that the host code has alike": (
        image(1024, 1024),
        ROWS_BY_COLUMNS,
        {
            **ungrown("nx * nx"),
            "nx": (128, 192, 512),
            "ny": None,
            "ny.computed": "nx",
            "grid": ("(nx + 31) / 32", "(nx + 31) / 32"),
        },
        "one number for nx, ny",
    ),
    "two numbers where the host code has them so": (image(1024, 512), ROWS_BY_COLUMNS, {}, ""),
    "more than the source has, whatever the sizes": (LINE, {"b": "n + 60"}, {}, ""),
}


@pytest.mark.parametrize("name", ROWS)
def test_buffers_are_as_the_source_has_them_with_other_sizes(name: str) -> None:
    before, needs, expected, said = ROWS[name]
    attempt = Simulated(needs).attempt
    outcome = Outcome(before, None, ("before",))
    found = with_buffers_as_they_were(outcome, attempt, lambda _: None, math.inf)
    assert changes(before, found.proposal) == expected
    assert found.done == (("before", said) if said else ("before",))


def test_elements_in_front_for_what_is_no_index_are_taken_away() -> None:
    """With a multiple of four, a kernel that reads four at a time reads nothing else."""
    bins = buffer("bins", "inout", "int32", elements="128", begin=str(IN_FRONT))
    before = proposal(N, A, bins)

    def attempt(tried: Proposal, patience: float) -> Trouble | None:
        whole = all(names(tried, case)["n"] % 4 == 0 for case in on_host(tried))
        fine = whole or tried.buffers[1].begin
        return None if fine else beside(bins=Beyond(4 * IN_FRONT, 0, 0))

    found = with_buffers_as_they_were(Outcome(before, None), attempt, lambda _: None, math.inf)
    assert changes(before, found.proposal) == {"bins.begin": "", "n": (10112, 7808, 1 << 20)}


def test_elements_in_front_for_neighbours_stay() -> None:
    before = proposal(N, buffer("a", begin="2048"), B)
    outcome = Outcome(before, None)
    assert with_buffers_as_they_were(outcome, answering(), lambda _: None, math.inf) == outcome


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
    found = with_buffers_as_they_were(outcome, Simulated({}).attempt, large, math.inf)
    assert (found != outcome) is taken


def test_the_reason_for_the_size_stands_beside_it() -> None:
    attempt = Simulated({"a": "threads"}).attempt
    found = with_buffers_as_they_were(Outcome(LINE, None), attempt, lambda _: None, math.inf)
    assert found.proposal.extents[0].note == (
        "a multiple of what blocks are made of: with others the kernel goes beyond its buffers"
    )


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
    found = with_buffers_as_they_were(outcome, answering(*answers), lambda _: None, math.inf)
    assert (found != outcome) is taken


@pytest.mark.parametrize(
    "outcome", [Outcome(LINE, Unjudged()), Outcome(replace(LINE, buffers=(A, B)), None)]
)
def test_nothing_is_tried_of_what_fails_or_did_not_grow(outcome: Outcome) -> None:
    assert with_buffers_as_they_were(outcome, answering(), lambda _: None, math.inf) == outcome
