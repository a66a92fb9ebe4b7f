"""Does a source read locals that it never set? Then chance decides about its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.subject import Subject

LIMIT: Final = 10.0
"""Seconds after which a launch counts as hung."""


@dataclass(frozen=True)
class UnsetLocals:
    """Runs sources where locals that nothing sets hold something else than when they were judged.

    Attributes:
        compiler: the back end's.
        pool: workers of a session that has the cases.
        folder: for binaries.
        cases: names of the cases.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]

    def objection(self, one: Candidate) -> str:
        """What stands against a candidate; "" where nothing does, or its reference does as much."""
        return self.objections([one])[0]

    def objections(self, some: Sequence[Candidate]) -> list[str]:
        """The same of each of several, of which as many are compiled at a time as there are
        processors."""
        with JobThreads[int, frozenset[str]](
            lambda at: self._warnings(some[at]), cores()
        ) as threads:
            for at in range(len(some)):
                threads.submit(at)
            warned = dict(threads.next() for _ in some)
        return [self._objection(one, warned[at]) for at, one in enumerate(some)]

    def _objection(self, one: Candidate, warned: frozenset[str]) -> str:
        if told := warned - self._warned_of:
            return (
                f"it reads {', '.join(sorted(told))}, which nothing has set, as its compiler warns"
            )
        if self.of_reference or not (wrong := self._wrong(one)):
            return ""
        return f"it reads locals that nothing sets: with other values there it is wrong: {wrong}"

    @cached_property
    def of_reference(self) -> str:
        """What is wrong with the reference's answers then; "" where nothing is."""
        return self._wrong(unmodified(self.subject))

    @cached_property
    def _warned_of(self) -> frozenset[str]:
        """Those that it warns of in the reference."""
        return self._warnings(unmodified(self.subject))

    def _warnings(self, one: Candidate) -> frozenset[str]:
        """The locals that a compiler warns of."""
        if one.binary is not None:
            return frozenset()
        return one.compiled_by(self.compiler).reads_unset(one.variant(0))

    def _wrong(self, one: Candidate) -> str:
        other = self.compiler.other_locals()
        if other is None or one.binary is not None:
            return ""
        (built,) = build_candidates(other, [one], self.folder)
        if isinstance(built, BuildFailure):
            return ""
        program = one.program(built, self.cases)
        answer = self.pool.one(Measure(program, program, Sampling(limit=LIMIT).untimed()))
        if isinstance(answer, Refused) or (not isinstance(answer, Lost) and answer.correct):
            return ""
        return answer.message or "it does not end well"
