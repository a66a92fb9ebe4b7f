"""Does a variant leave out an input on which the reference's answers depend?

Where the part of an input in the answers is smaller than what the oracle allows, a variant that
puts zero in its place is right on all cases, and wrong. Nothing that does so is certified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gi_cuda.backends.protocol.requests import DependsOn, Program
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.results.evaluation import Validation
from gi_cuda.spec import BufferRole, Target
from gi_cuda.subject import Subject

LIMIT = 10.0
"""Seconds after which a launch with zeros counts as hung."""


def real_inputs(target: Target) -> list[str]:
    """Inputs of real numbers in plain memory."""
    read_through = {one.buffer for one in target.textures}
    return [
        one.name
        for one in target.buffers
        if one.role is BufferRole.INPUT
        and one.dtype.kind == "f"
        and one.symbol is None
        and one.name not in read_through
    ]


@dataclass(frozen=True)
class Dependence:
    """Looks at what candidates depend on.

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

    def certified(self, one: Candidate, validation: Validation) -> Validation:
        """A validation, which fails where the candidate leaves out an input."""
        if not validation.correct or not (complaint := self.complaint(one)):
            return validation
        return replace(validation, correct=False, message=complaint, overall=None, cases=None)

    def complaint(self, one: Candidate) -> str:
        """What stands against a candidate; "" where nothing does."""
        left = self._left_out(one, self._inputs)
        if not left:
            return ""
        return (
            f"its answers are the same with zeros in place of the input {left[0]}, and the"
            " reference's are not: they differ by less than [oracle] allows"
        )

    @cached_property
    def _inputs(self) -> list[str]:
        """Those on which the reference's answers depend."""
        names = real_inputs(self.subject.target)
        left = self._left_out(unmodified(self.subject), names)
        return [name for name in names if name not in left]

    def _left_out(self, one: Candidate, names: list[str]) -> list[str]:
        """Those of some inputs on which no answer depends. What does not end by an answer, or does
        not compile, is none of them."""
        program = self._program(one) if names else None
        if program is None:
            return []
        asked = {name: self.pool.one(DependsOn(program, name, LIMIT)) for name in names}
        return [name for name, answer in asked.items() if answer is False]

    def _program(self, one: Candidate) -> Program | None:
        (built,) = build_candidates(self.compiler, [one], self.folder)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)
