"""Is a variant right on other random data as well?

Where answers are yes or no, or of few values, or hold for most data anyway, a variant that computes
something else may be right on all cases of a target by chance. What is to be certified runs on
these cases once more, with other seeds, as many as there is time to make data for, and nothing of
it is timed. Where the reference writes one value everywhere, whatever the seed, nothing tells what
is right, and nothing is certified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
    Recorded,
    Refused,
)
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.evaluate.replicates import why_wrong
from gi_cuda.results.measurement import Measurement
from gi_cuda.spec import Case
from gi_cuda.spec.cases import reseeded
from gi_cuda.subject import Subject

SEEDS: Final = 8
"""Other seeds for each case: with so many, what is wrong for one in five is seen."""

ENOUGH: Final = 10.0
"""Seconds of making data after which no more is made; several workers make it."""

LIMIT: Final = 10.0
"""Seconds after which a launch counts as hung."""

_ALWAYS: Final = (
    "the reference writes one value everywhere, on all cases and with other random numbers in its"
    " inputs as well: whatever writes that is right. Give it data in data.py for which its answers"
    " differ"
)


@dataclass(frozen=True, slots=True)
class _Round:
    """Cases with other seeds, in a worker that has them.

    Attributes:
        base: the reference on them, whose answers are recorded.
        only: as :class:`Recorded` has it.
    """

    pool: Pool[int]
    base: Program
    only: frozenset[str]

    def wrong(self, one: Candidate, built: Binary) -> str:
        """What is wrong with a candidate on them; "" where nothing is."""
        program = one.program(built, self.base.cases)
        answer = self.pool.one(Measure(program, self.base, Sampling(limit=LIMIT).untimed()))
        assert isinstance(answer, Measurement | Lost | Refused)
        return why_wrong(answer)


@dataclass(frozen=True)
class OtherData:
    """Runs candidates on the cases of a subject with other seeds.

    Attributes:
        compiler: the back end's.
        session: that of the workers.
        folder: for binaries, and the reference's answers.
        alone: opens a worker of a session.
        opened: closes those that were opened.
    """

    subject: Subject
    compiler: Compiler
    session: Session
    folder: Path
    alone: Callable[[Session], AbstractContextManager[Pool[int]]]
    opened: ExitStack

    def objection(self, one: Candidate) -> str:
        """What is wrong with a candidate; "" where nothing is, the cases have no seeds, or the
        reference itself fails with others."""
        return self.objections([one])[0]

    def objections(self, some: Sequence[Candidate]) -> list[str]:
        """The same of each of several, which are compiled in one batch."""
        built = build_candidates(self.compiler, some, self.folder / "variant")
        return [self._wrong(one, made) for one, made in zip(some, built, strict=True)]

    def _wrong(self, one: Candidate, built: Built) -> str:
        if isinstance(built, BuildFailure) or not self._rounds:
            return ""
        values = frozenset[str]().union(*(some.only for some in self._rounds))
        if len(values) == 1 and "" not in values:
            return _ALWAYS
        wrong = at_once([partial(some.wrong, one, built) for some in self._rounds])
        return next((f"with other random numbers in its inputs it is {w}" for w in wrong if w), "")

    @cached_property
    def _rounds(self) -> tuple[_Round, ...]:
        """First one other seed for each case, then as many as there is time for. None where the
        reference fails with one of them."""
        others = reseeded(self.session.target, self.session.cases, SEEDS)
        reference = unmodified(self.subject)
        (built,) = build_candidates(self.compiler, [reference], self.folder / "reference")
        if not others or isinstance(built, BuildFailure):
            return ()
        base, begun = reference.program(built, ()), time.monotonic()
        (first,) = self._recorded(base, [others[::SEEDS]])
        each = time.monotonic() - begun
        workers = min(SEEDS - 1, max(1, cores() // 2))
        more = min(SEEDS - 1, workers * int((ENOUGH - each) / each))
        rest = [case for at, case in enumerate(others) if 0 < at % SEEDS <= more]
        shares = [rest[at::workers] for at in range(min(workers, len(rest)))]
        rounds = first and [first, *self._recorded(base, shares)]
        return tuple(one for one in rounds if one) if rounds and all(rounds) else ()

    def _recorded(
        self, reference: Program, shares: Sequence[Sequence[Case]]
    ) -> list[_Round | None]:
        """Workers that have a share of cases each, and the reference's answers; None where it
        fails."""
        asked = []
        for share in shares:
            names = tuple(case.name for case in share)
            session = self._session(share, names)
            pool = self.opened.enter_context(self.alone(session))
            base = replace(reference, cases=names)
            asked.append(partial(self._record, pool, session, base))
        return at_once(asked)

    def _session(self, cases: Sequence[Case], names: tuple[str, ...]) -> Session:
        target, folder = self.session.target, self.folder / "recorded" / names[0]
        target = replace(target, cases=(*target.cases, *cases))
        return replace(self.session, target=target, cases=names, reference=folder)

    def _record(self, pool: Pool[int], session: Session, base: Program) -> _Round | None:
        runs = max(2, session.target.oracle.runs)
        recorded = pool.one(Record(base, session.reference, runs, LIMIT))
        if not isinstance(recorded, Recorded) or any(recorded.penalties.values()):
            return None
        return _Round(pool, base, frozenset(recorded.only.values()))
