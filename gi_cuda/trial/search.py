"""Mending a proposal until it passes, or nothing more can be done."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gi_cuda.errors import UserError
from gi_cuda.init import Proposal
from gi_cuda.init.proposing.cases import Second
from gi_cuda.trial.changes import Mend
from gi_cuda.trial.mends import mends
from gi_cuda.trial.reach import Reach
from gi_cuda.trial.resizing import GOAL
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
"""Proposals that are tried before it is given up."""

_MOST_MENDS = 6
"""Of one trouble."""


MOST_BETTER = 6
"""Attempts at a better one where there is one that would pass all the same."""

PATIENCE = 0.3
"""Seconds a case may take if nothing makes it faster."""

CONFIRM = "confirm"
"""What stands in a target that passed, where something was assumed."""

_STAGES = ((Died, LeftOut, Beside), (Slow,), (Roles,), (Varying, Undefined), (Blind,))
"""What goes wrong, in the order in which it is seen; what is not among it comes before."""

Attempt = Callable[[Proposal, float], Trouble | None]
"""What goes wrong with a proposal of which a case may take so many seconds."""


_SYNTAX = re.compile(
    r"does not compile: (expected ('[;,)}\]]' |[\w-]+ before '[;)}\]]'|'}' at end of)"
    r"|missing terminating|stray '|unterminated )"
)
"""Errors that no header, macro or option mends, as g++ and clang word them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a proposal.

    Attributes:
        proposal: mended, if it passes; else the one that came furthest.
        trouble: what went wrong with it; None: it passes.
        done: the mends that helped; where it does not pass, those that were tried.
        reached: what its cases reach; None where that is not known.
        brief: seconds that a launch takes, where no size makes it longer that it could be timed
            well; else 0.
    """

    proposal: Proposal
    trouble: Failing | None
    done: tuple[str, ...] = ()
    reached: Reach | None = None
    brief: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether a check would be content."""
        return self.trouble is None

    @property
    def syntax_error(self) -> UserError | None:
        """The error in the source itself, however it is compiled; None where there is none."""
        error = self.trouble.error if isinstance(self.trouble, Refused) else None
        return error if error is not None and _SYNTAX.search(error.what) else None

    @property
    def failure(self) -> str:
        """What is wrong with it, for people; "" where it passes."""
        return "" if self.trouble is None else f"its trial fails: {self.trouble}"

    def _mended(self) -> Iterator[str]:
        """Say what was mended, with the sizes that it came to."""
        extents = self.proposal.extents
        sizes = ", ".join(f"{one.name} = {one.train}" for one in extents if not one.blocks)
        how = {"smaller sizes": "reduced", "larger sizes": "enlarged"} if sizes else {}
        done = dict.fromkeys(self.done)
        yield from (f"sizes were {how[said]} to {sizes}" for said in done if said in how)
        if others := _last_growths([said for said in done if said not in how]):
            yield f"mended: {', '.join(others)}"

    def lines(self) -> Iterator[str]:
        """What was found out, for people."""
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
    """Tries proposals that may take the place of one that passes.

    Attributes:
        passing: the one that passes.
        patience: seconds a case may take.
    """

    passing: Proposal
    attempt: Attempt
    patience: float = PATIENCE
    _borne: type | None = None

    def trouble(self, tried: Proposal) -> Trouble | None:
        """Return what is wrong with a proposal; None where it may take the place: nothing is, or
        what is wrong with the one that passes as well."""
        found = self.attempt(tried, self.patience)
        if not isinstance(found, Bearable):
            return found
        if self._borne is None:
            self._borne = type(self.attempt(self.passing, self.patience))
        return None if isinstance(found, self._borne) else found


def mended(first: Proposal, attempt: Attempt, seconds: float) -> Outcome:
    """Try a proposal, and what mends it, until one passes, with the first case of each role alone.

    Args:
        seconds: for how long after the first one, which is compiled, further ones are tried.
    """
    first = replace(first, second=Second.NONE)
    waiting: list[tuple[Proposal, tuple[str, ...]]] = [(first, ())]
    seen = [first]
    tried: list[str] = []
    brief: Outcome | None = None
    spare: Outcome | None = None  # would pass all the same
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
            continue  # larger sizes do not do, or make no difference
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
    if _bearable(furthest.trouble):  # nothing that is faster does
        trouble = attempt(furthest.proposal, PATIENCE)
        if trouble is None or isinstance(trouble, Bearable):
            return _passed(furthest.proposal, furthest.done)
        furthest = replace(furthest, trouble=trouble)
    return Outcome(furthest.proposal, furthest.trouble, tuple(dict.fromkeys(tried)))


@dataclass(frozen=True, slots=True)
class _Failed:
    """A proposal with which something goes wrong, and how it came about."""

    proposal: Proposal
    done: tuple[str, ...]
    trouble: Failing

    @property
    def rank(self) -> tuple[int, float]:
        """How far it came: what goes wrong later is less, as is what takes less long."""
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
    """Whether it is only that a case takes longer than it should."""
    return isinstance(trouble, Slow) and trouble.seconds <= PATIENCE


def _further(proposal: Proposal, trouble: Trouble, seen: list[Proposal]) -> list[Mend]:
    found: list[Mend] = []
    for mend in mends(proposal, trouble):
        if mend.proposal not in seen and mend.proposal not in [one.proposal for one in found]:
            found.append(mend)
    return found[:_MOST_MENDS]
