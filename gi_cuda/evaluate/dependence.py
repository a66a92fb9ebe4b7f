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


def inputs(target: Target) -> list[str]:
    """What may be zero: buffers in plain memory that the case gives and that hold no addresses, and
    scalars that are real numbers. Integer ones decide how much there is to do."""
    read_through = {one.buffer for one in target.textures}
    buffers = [
        one.name
        for one in target.buffers
        if one.role.given
        and one.symbol is None
        and not one.addresses
        and one.name not in read_through
    ]
    scalars = [
        one.name
        for one in target.scalars
        if one.value is None and not one.redraw and one.dtype.kind == "f"
    ]
    return [*buffers, *scalars]


def real_inputs(target: Target) -> list[str]:
    """Those that are buffers of real numbers, which are only read."""
    found = inputs(target)
    return [
        one.name
        for one in target.buffers
        if one.name in found and one.role is BufferRole.INPUT and one.dtype.kind == "f"
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
        answers = self._answers(one, self._inputs)
        left = [name for name, depends in answers.items() if depends is False]
        if not left:
            return ""
        return (
            f"its answers are the same with zeros in place of the input {left[0]}, and the"
            " reference's are not: they differ by less than [oracle] allows"
        )

    @cached_property
    def _inputs(self) -> list[str]:
        """Those on which the reference's answers depend."""
        answers = self._answers(unmodified(self.subject), inputs(self.subject.target))
        return [name for name, depends in answers.items() if depends is True]

    def _answers(self, one: Candidate, names: list[str]) -> dict[str, object]:
        """Whether any answer depends on each of some inputs. Where a launch with zeros does not
        end by an answer that is neither true nor false; nothing of what does not compile."""
        program = self._program(one) if names else None
        if program is None:
            return {}
        return {name: self.pool.one(DependsOn(program, name, LIMIT)) for name in names}

    def _program(self, one: Candidate) -> Program | None:
        (built,) = build_candidates(self.compiler, [one], self.folder)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)
