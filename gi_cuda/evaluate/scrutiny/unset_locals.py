"""Check for reads of uninitialized locals, whose values depend on chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from gi_cuda.backends.protocol.examination import Examination
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.subject import Subject

LIMIT: Final = 10.0
"""Time limit of a launch, in seconds."""


@dataclass(frozen=True)
class UnsetLocals:
    """A check that runs sources with other contents of uninitialized locals.

    Attributes:
        compiler: compiler of the back end.
        workers: starts or returns workers of a session that has the cases.
        folder: for binaries.
        cases: names of the cases.
        examined: warnings of compilers.
    """

    subject: Subject
    compiler: Compiler
    workers: Callable[[], Pool[int]]
    folder: Path
    cases: tuple[str, ...]
    examined: Examined

    def objection(self, one: Candidate) -> str:
        """Return the objection to a candidate; "" if there is none, or if the reference has the
        fault too.
        """
        return self.objections([one])[0]

    def objections(self, some: Sequence[Candidate]) -> list[str]:
        """Return the objection to each candidate; "" if there is none."""
        found = zip(some, self.examined.of(some), strict=True)
        return [self._objection(one, examination) for one, examination in found]

    def _objection(self, one: Candidate, found: Examination) -> str:
        reference = self.examined.reference
        if told := found.unset - reference.unset:
            return f"it reads {_listed(told)}, which nothing has set, as its compiler warns"
        if self.of_reference or not (wrong := self._wrong(one)):
            return ""
        # A compiler also warns if it is unsure; a failure with other values settles the question.
        perhaps = found.perhaps_unset - reference.perhaps_unset
        said = f"{_listed(perhaps)}, which it does not always set" if perhaps else ""
        said = said or "locals that nothing sets"
        return f"it reads {said}: with other values there it is wrong: {wrong}"

    @cached_property
    def _pool(self) -> Pool[int]:
        return self.workers()

    @cached_property
    def of_reference(self) -> str:
        """The fault in the reference's outputs with other contents of locals; "" if there is
        none.
        """
        return self._wrong(unmodified(self.subject))

    def _wrong(self, one: Candidate) -> str:
        if one.binary is not None:
            return ""
        return next(filter(None, (self._with(by, one) for by in self.compiler.other_locals())), "")

    def _with(self, compiler: Compiler, one: Candidate) -> str:
        """Return the fault of a candidate that a given compiler made; "" if there is none."""
        (built,) = build_candidates(compiler, [one], self.folder)
        if isinstance(built, BuildFailure):
            return ""
        program = one.program(built, self.cases)
        answer = self._pool.ask(Measure(program, program, Sampling(limit=LIMIT).untimed()))
        if isinstance(answer, Refused) or (not isinstance(answer, Lost) and answer.correct):
            return ""
        return answer.message or "it does not end well"


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))
