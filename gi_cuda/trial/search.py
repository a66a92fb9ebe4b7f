"""Fix a proposal until it passes, or nothing more can be done."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gi_cuda.errors import UserError
from gi_cuda.init import Proposal
from gi_cuda.init.proposing.cases import Second
from gi_cuda.trial.case_coverage import Reach
from gi_cuda.trial.mending.changes import Mend
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.mending.resizing import GOAL
from gi_cuda.trial.troubles import (
    Alike,
    Bearable,
    Beside,
    Blind,
    Brief,
    Crowded,
    Died,
    Failing,
    LeftOut,
    Refused,
    Roles,
    Slow,
    Tiny,
    Trouble,
    Undefined,
    Varying,
)

MOST_ATTEMPTS = 24
"""Largest number of proposals that are tried."""

_MOST_MENDS = 6
"""Largest number of fixes that are tried for one trouble."""


MOST_BETTER = 6
"""Largest number of attempts at a better proposal once one would pass."""

PATIENCE = 0.3
"""Seconds that a case may take if no fix makes it faster."""

CONFIRM = "confirm"
"""Mark of assumptions in a target that passed."""

_STAGES = ((Died, LeftOut, Beside), (Slow,), (Roles,), (Varying, Undefined), (Blind,))
"""Troubles in the order in which trials detect them; all others come before."""

Attempt = Callable[[Proposal, float], Trouble | None]
"""Function that tries a proposal, given the seconds that a case may take; returns the trouble or
None.
"""


_SYNTAX = re.compile(
    r"does not compile: (expected ('[;,)}\]]' |[\w-]+ before '[;)}\]]'|'}' at end of)"
    r"|missing terminating|stray '|unterminated )"
)
"""Errors, of g++ and clang, that no header, macro or option fixes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of trying and fixing a proposal.

    Attributes:
        proposal: the fixed proposal if it passes; else the one that came furthest.
        trouble: its trouble; None if it passes.
        done: the fixes that helped; if it does not pass, the fixes that were tried.
        reached: coverage by its cases; None if unknown.
        brief: seconds of a launch that is too short to be timed well, whatever the sizes; else 0.
    """

    proposal: Proposal
    trouble: Failing | None
    done: tuple[str, ...] = ()
    reached: Reach | None = None
    brief: float = 0.0

    @property
    def passes(self) -> bool:
        """Tell whether a check would pass."""
        return self.trouble is None

    @property
    def syntax_error(self) -> UserError | None:
        """Return the error in the source itself that no compiler option fixes; None if there is
        none.
        """
        error = self.trouble.error if isinstance(self.trouble, Refused) else None
        return error if error is not None and _SYNTAX.search(error.what) else None

    @property
    def failure(self) -> str:
        """Return a message on its failure; "" if it passes."""
        return "" if self.trouble is None else f"its trial fails: {self.trouble}"

    def _mended(self) -> Iterator[str]:
        """Yield messages on the fixes, with the resulting sizes."""
        extents = self.proposal.extents
        sizes = ", ".join(f"{one.name} = {one.train}" for one in extents if not one.blocks)
        how = {"smaller sizes": "reduced", "larger sizes": "enlarged"} if sizes else {}
        done = dict.fromkeys(self.done)
        yield from (f"sizes were {how[said]} to {sizes}" for said in done if said in how)
        if others := _last_growths([said for said in done if said not in how]):
            yield f"mended: {', '.join(others)}"

    def lines(self) -> Iterator[str]:
        """Yield messages on the outcome for users."""
        if self.trouble is None:
            yield "; ".join(["it ran on the host back end, and passes", *self._mended()])
            if self.reached is not None and self.reached.statements < self.reached.of:
                left, of = self.reached.of - self.reached.statements, self.reached.of
                yield f"  its cases do not reach {left} of {of} statements: check says which"
            if self.brief:
                yield (
                    f"  a launch takes {1e6 * self.brief:.0f} µs, and nothing was found that makes"
                    " it longer: what a variant gains may be lost in noise"
                )
            return
        if isinstance(self.trouble, Refused):
            yield f"it cannot be tried on the host back end: {self.trouble}"
        else:
            yield f"it ran on the host back end, and does not pass: {self.trouble}"
        if self.done:
            yield f"  tried: {', '.join(_last_growths(self.done))}"
        yield f"  {self.trouble.remedy}"


@dataclass(slots=True)
class Substitutes:
    """Trials of proposals that may replace one that passes.

    Attributes:
        passing: the proposal that passes.
        attempt: tries a proposal.
        patience: seconds that a case may take.
    """

    passing: Proposal
    attempt: Attempt
    patience: float = PATIENCE
    _borne: type | None = None

    def trouble(self, tried: Proposal) -> Trouble | None:
        """Return the trouble with a proposal; None if it may replace the passing one.

        A bearable trouble that the passing proposal has, too, does not count.
        """
        found = self.attempt(tried, self.patience)
        if not isinstance(found, Bearable):
            return found
        if self._borne is None:
            self._borne = type(self.attempt(self.passing, self.patience))
        return None if isinstance(found, self._borne) else found


def mended(first: Proposal, attempt: Attempt, seconds: float) -> Outcome:
    """Try a proposal and fixes of it until one passes, with the first case of each role only.

    Args:
        seconds: time for further proposals after the first, which includes compiling.
    """
    first = replace(first, second=Second.NONE)
    waiting: list[tuple[Proposal, tuple[str, ...]]] = [(first, ())]
    seen = [first]
    tried: list[str] = []
    brief: Outcome | None = None
    spare: Outcome | None = None  # passes with a bearable trouble
    shortest = True, math.inf
    furthest: _Failed | None = None
    better = MOST_BETTER
    until = math.inf
    attempts = 0
    while waiting and attempts < MOST_ATTEMPTS and time.monotonic() < until:
        proposal, done = waiting.pop()
        attempts += 1
        better -= spare is not None
        if better < 0:
            break
        trouble = attempt(proposal, 2 * GOAL)
        until = min(until, time.monotonic() + seconds)
        if trouble is None:
            return _passed(proposal, done)
        if isinstance(trouble, Crowded | Alike | Tiny):
            brief, spare = None, spare or _passed(proposal, done)
        elif isinstance(trouble, Brief) and (trouble.alike, -trouble.seconds) < shortest:
            brief = replace(_passed(proposal, done), brief=trouble.seconds)
            shortest = trouble.alike, -1.5 * trouble.seconds
        elif brief is not None:
            continue  # larger sizes fail, or make no difference
        further = _further(proposal, trouble, seen)
        if not further and _bearable(trouble):
            trouble = attempt(proposal, PATIENCE)
            if trouble is None:
                return _passed(proposal, done)
            if isinstance(trouble, Bearable):
                spare = spare or _passed(proposal, done)
            further = _further(proposal, trouble, seen)
        if not isinstance(trouble, Bearable):
            failed = _Failed(proposal, done, trouble)
            if furthest is None or failed.rank > furthest.rank:
                furthest = failed
        for mend in reversed(further):
            seen.append(mend.proposal)
            tried.append(mend.said)
            waiting.append((mend.proposal, (*done, mend.said)))
    if passing := brief or spare:
        return passing
    assert furthest is not None, "the first one is always tried"
    return Outcome(furthest.proposal, furthest.trouble, tuple(dict.fromkeys(tried)))


@dataclass(frozen=True, slots=True)
class _Failed:
    """A proposal with its trouble, and the fixes that led to it."""

    proposal: Proposal
    done: tuple[str, ...]
    trouble: Failing

    @property
    def rank(self) -> tuple[int, float]:
        """Return how far it came: troubles that are detected later rank higher, then less time."""
        stages = (n for n, kinds in enumerate(_STAGES, 1) if isinstance(self.trouble, kinds))
        seconds = self.trouble.seconds if isinstance(self.trouble, Slow) else 0.0
        return next(stages, 0), -seconds


def _last_growths(done: Sequence[str]) -> list[str]:
    """Return mends with the last size of each buffer alone. ``["a grown to n * 2, b grown to n",
    "a grown to n * 3"]`` becomes ``["b grown to n", "a grown to n * 3"]``."""
    parts = [part for said in done for part in said.split(", ")]
    last = {part.partition(" grown to ")[0]: part for part in parts if " grown to " in part}
    return [part for part in parts if part in last.values() or " grown to " not in part]


def _passed(proposal: Proposal, done: tuple[str, ...]) -> Outcome:
    return Outcome(replace(proposal, mark=CONFIRM), None, done)


def _bearable(trouble: Trouble) -> bool:
    """Tell whether the only trouble is a case that takes a little too long."""
    return isinstance(trouble, Slow) and trouble.seconds <= PATIENCE


def _further(proposal: Proposal, trouble: Trouble, seen: list[Proposal]) -> list[Mend]:
    found: list[Mend] = []
    for mend in mends(proposal, trouble):
        if mend.proposal not in seen and mend.proposal not in [one.proposal for one in found]:
            found.append(mend)
    return found[:_MOST_MENDS]
