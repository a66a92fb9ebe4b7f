"""Scalars, contents and sizes that reach more of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.buffers import OFFSETS, Fill
from gi_cuda.trial import Outcome
from gi_cuda.trial.case_coverage import Reach
from gi_cuda.trial.facts import names, on_host
from gi_cuda.trial.reaching import with_more_reached
from gi_cuda.trial.troubles import Brief, Trouble, Unjudged
from tests.unit.trial.proposals import A, B, Changes, N, buffer, changes, proposal, scalar, size

MODE, LIMIT = scalar("mode"), scalar("limit", 0.5, "float32")
KIND = buffer("kind", kind="int32", elements="n")


def value(tried: Proposal, name: str) -> float:
    return next(one.value for one in tried.scalars if one.name == name)


def fill(tried: Proposal, name: str) -> Fill:
    found = next(one.fill for one in tried.buffers if one.name == name)
    return found or Fill(0, 100)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the kernel that comes out alike at first.

    Attributes:
        words: names in it.
        numbers: whole numbers in it.
        holds: whether a proposal reaches what is behind it.
    """

    words: frozenset[str]
    numbers: frozenset[int]
    holds: Callable[[Proposal], bool]

    def reach(self, tried: Proposal) -> Reach:
        """Return the places that the cases of a proposal reach."""
        if self.holds(tried):
            return Reach(3, 2, 2, frozenset(), frozenset())
        return Reach(2, 1, 2, self.words, self.numbers)


def condition(words: str, numbers: tuple[int, ...], holds: Callable[[Proposal], bool]) -> Condition:
    return Condition(frozenset(words.split()), frozenset(numbers), holds)


ROWS: dict[str, tuple[Proposal, Condition, Changes, str]] = {
    "mode == 42": (
        proposal(N, A, B, MODE),
        condition("mode", (42,), lambda p: value(p, "mode") == 42),
        {"mode.value": 42},
        "mode = 42",
    ),
    "mode > 42": (
        proposal(N, A, B, MODE),
        condition("mode", (42,), lambda p: value(p, "mode") > 42),
        {"mode.value": 128},
        "mode = 128",
    ),
    "mode < 0": (
        proposal(N, A, B, MODE),
        condition("mode", (0,), lambda p: value(p, "mode") < 0),
        {"mode.value": -1},
        "mode = -1",
    ),
    "limit > 50": (
        proposal(N, A, B, LIMIT),
        condition("limit", (50,), lambda p: value(p, "limit") > 50),
        {"limit.value": 100.0},
        "limit = 100.0",
    ),
    "kind[i] == 1000003": (
        proposal(N, A, B, KIND),
        condition(
            "kind i", (1000003,), lambda p: fill(p, "kind").low <= 1000003 < fill(p, "kind").high
        ),
        {"kind.fill": Fill(1000002, 1000005)},
        "kind from 1000002 to 1000005",
    ),
    "kind[i] < 0": (
        proposal(N, A, B, KIND),
        condition("kind i", (), lambda p: fill(p, "kind").low < 0),
        {"kind.fill": Fill(-1, 2)},
        "kind from -1 to 2",
    ),
    "kind[i] > 200, of unsigned bytes": (
        proposal(N, A, B, buffer("kind", kind="uint8", elements="n")),
        condition("kind i", (), lambda p: fill(p, "kind").high > 200),
        {"kind.fill": Fill(0, 256)},
        "kind from 0 to 256",
    ),
    "a[i] < -50": (
        proposal(N, A, B),
        condition("a i", (-50,), lambda p: fill(p, "a").low < -50),
        {"a.fill": Fill(-100, 100)},
        "a from -100 to 100",
    ),
    "n % 16": (
        proposal(size("n", 8192, 4096, 1 << 20), A, B),
        condition("n", (16,), lambda p: any(names(p, case)["n"] % 16 for case in on_host(p))),
        {"n": (8205, 4109, 1 << 20)},
        "sizes that are no multiples of blocks",
    ),
    "n > 50000": (
        proposal(N, A, B),
        condition("n", (50000,), lambda p: names(p, "train")["n"] > 50000),
        {"n": (160112, 124432, 1 << 20)},
        "n made larger",
    ),
}


def found(before: Proposal, asked: Condition, trouble: Trouble | None = None) -> Outcome:
    """Try a proposal; ``trouble`` is the trouble of any other one."""

    def attempt(tried: Proposal, patience: float) -> Trouble | None:
        return None if tried == before else trouble

    return with_more_reached(Outcome(before, None), attempt, asked.reach, math.inf)


@pytest.mark.parametrize("name", ROWS)
def test_data_become_what_a_condition_asks_for(name: str) -> None:
    before, asked, expected, said = ROWS[name]
    outcome = found(before, asked)
    assert changes(before, outcome.proposal) == expected
    assert outcome.done == (said,)
    assert outcome.reached is not None
    assert outcome.reached.complete


STAYING: dict[str, Proposal] = {
    "a scalar of the host code": proposal(N, B, scalar("x", 2, source=True)),
    "a scalar that is computed": proposal(N, B, scalar("x", 0.5, "float32", computed="n")),
    "the only number that a condition names": proposal(
        N, B, scalar("x", 7, source=True, varied=True)
    ),
    "the begins of rows": proposal(N, B, buffer("x", kind="int32", fill=OFFSETS)),
    "places in another buffer": proposal(N, B, buffer("x", kind="int32", into="a")),
    "addresses": proposal(N, B, buffer("x", kind="uint64", addresses=(("a", 0),))),
    "an output": proposal(N, buffer("x", "output")),
}


@pytest.mark.parametrize("name", STAYING)
def test_what_has_a_meaning_already_stays(name: str) -> None:
    before = STAYING[name]
    asked = condition(
        "x", (7,), lambda p: (p.scalars, p.buffers) != (before.scalars, before.buffers)
    )
    assert found(before, asked).proposal == before


@pytest.mark.parametrize("trouble", [Unjudged(), Brief(1e-5)])
def test_what_goes_wrong_is_not_taken(trouble: Trouble) -> None:
    before, asked, *_ = ROWS["mode == 42"]
    outcome = found(before, asked, trouble)
    assert outcome.proposal == before
    assert outcome.reached == asked.reach(before)
    assert "its cases do not reach 1 of 2 statements" in " ".join(outcome.lines())


def test_changes_are_added_to_each_other() -> None:
    before = proposal(N, A, B, MODE, LIMIT)

    def reach(tried: Proposal) -> Reach:
        first, second = value(tried, "mode") == 42, value(tried, "limit") > 50
        words = frozenset({"limit"} if first else {"mode"}) if not second else frozenset()
        return Reach(1 + first + (first and second), 1, 2, words, frozenset({42, 50}))

    outcome = with_more_reached(Outcome(before, None), lambda *_: None, reach, math.inf)
    assert changes(before, outcome.proposal) == {"mode.value": 42, "limit.value": 100.0}
    assert outcome.done == ("mode = 42", "limit = 100.0")


def test_nothing_is_tried_where_all_is_reached() -> None:
    before = proposal(N, A, B, MODE)
    asked: list[Proposal] = []

    def reach(tried: Proposal) -> Reach:
        asked.append(tried)
        return Reach(2, 2, 2, frozenset(), frozenset())

    outcome = with_more_reached(Outcome(before, None), lambda *_: None, reach, math.inf)
    assert outcome.proposal == before
    assert asked == [before]
