"""The order in which proposals are tried, and the end of the search."""

from __future__ import annotations

import pytest

from gi_cuda.init import Proposal
from gi_cuda.results.measurement import Survival
from gi_cuda.trial.search import (
    CONFIRM,
    MOST_ATTEMPTS,
    MOST_BETTER,
    Outcome,
    mended,
)
from gi_cuda.trial.troubles import Beside, Crowded, Died, Trouble
from tests.unit.trial.proposals import A, B, N, beside, changes, proposal, scalar

ROWS = proposal(N, A, B, scalar("pitch"), scalar("seed"), scalar("width"))


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ((), "passes"),
        (("smaller sizes",), "passes; sizes were reduced to n = {n}"),
        (
            ("BLOCK fixed", "larger sizes", "a block of 32"),
            "passes; sizes were enlarged to n = {n}; mended: BLOCK fixed, a block of 32",
        ),
        (
            ("a grown to n * 2, b grown to n", "a, b made inout", "a grown to n * 3"),
            "passes; mended: b grown to n, a, b made inout, a grown to n * 3",
        ),
    ],
)
def test_sizes_that_were_changed_are_said_with_what_they_came_to(
    done: tuple[str, ...], said: str
) -> None:
    tried = proposal(N, A, B)
    (line,) = Outcome(tried, None, done).lines()
    (extent,) = tried.extents
    assert line == "it ran on the host back end, and " + said.format(n=extent.train)


def test_the_mend_of_a_mend_is_tried_before_other_mends() -> None:
    tried: list[Proposal] = []

    def attempt(found: Proposal, patience: float) -> Trouble | None:
        tried.append(found)
        return Died("train", Survival.CRASHED, 11, "") if len(tried) < 4 else None

    outcome = mended(ROWS, attempt, 60)
    assert [changes(ROWS, one).get("block") for one in tried] == [None, ("32",), ("16",), ("256",)]
    assert outcome.done == tuple(f"a block of {threads}" for threads in (32, 16, 256))
    assert outcome.proposal.mark == CONFIRM


def test_few_better_ones_are_tried_where_one_would_pass() -> None:
    tried: list[Proposal] = []

    def attempt(found: Proposal, patience: float) -> Trouble | None:
        tried.append(found)
        return Crowded()

    outcome = mended(ROWS, attempt, 60)
    assert outcome.passes
    assert changes(ROWS, outcome.proposal) == {}
    assert len(tried) <= 1 + MOST_BETTER


def test_it_ends_where_nothing_passes() -> None:
    tried: list[Proposal] = []

    def attempt(found: Proposal, patience: float) -> Trouble | None:
        tried.append(found)
        return beside(a=4)

    before = proposal(N, A, B)
    outcome = mended(before, attempt, 60)
    assert isinstance(outcome.trouble, Beside)
    assert outcome.proposal == before
    assert len(tried) == MOST_ATTEMPTS
    assert len({repr(one) for one in tried}) == len(tried)
