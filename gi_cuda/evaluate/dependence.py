"""Does a variant do with each input what the reference does?

Where the part of an input in the answers is smaller than what the oracle allows, or a number that a
kernel gets is never what limits it, a variant that puts a constant in its place is right on all
cases, and wrong; so is one that takes one of two numbers for the other, where they are the same in
all cases. With something else in the place of an input, the answers have to become other ones, and
be those of the reference. Nothing of which that is not so is certified.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from gi_cuda.backends.protocol.requests import AgreesWith, DependsOn, Instead, Program
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.spec import BufferRole, Target
from gi_cuda.subject import Subject

LIMIT = 10.0
"""Seconds after which a launch with something else counts as hung."""


def inputs(target: Target) -> dict[str, tuple[Instead, ...]]:
    """What may be something else, and what that may be, in the order in which to try.

    These are buffers in plain memory that the case gives and that hold no addresses, and scalars
    that are passed to a kernel. Integers decide how much there is to do, so half of one is tried
    first, and 0 last, with which a kernel may divide.
    """
    read_through = {one.buffer for one in target.textures}
    buffers = [
        one.name
        for one in target.buffers
        if one.role.given
        and one.symbol is None
        and not one.addresses
        and one.name not in read_through
    ]
    passed = {name for one in target.launches for step in one.steps for name in target.passed(step)}
    scalars = {
        one.name: _REAL if one.dtype.kind == "f" else _WHOLE
        for one in target.scalars
        if one.name in passed and not one.redraw
    }
    return {**dict.fromkeys(buffers, _BUFFER), **scalars}


_BUFFER = (Instead.ZERO,)
_REAL = (Instead.MORE, Instead.ZERO)
_WHOLE = (Instead.HALF, Instead.ONE, Instead.TWO, Instead.ZERO)


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

    def complaint(self, one: Candidate) -> str:
        """What stands against a candidate; "" where nothing does."""
        program = self._program(one, "variant") if inputs(self.subject.target) else None
        if program is None:
            return ""
        left_out = (self._left_out(program, *pair) for pair in self._decisive.items())
        others = (self._wrong(program, *pair) for pair in self._comparable)
        return next(filter(None, chain(left_out, others)), "")

    def _left_out(self, program: Program, name: str, instead: Instead) -> str:
        """Whether a program's answers do not change where the reference's do, in words."""
        if self.pool.one(DependsOn(program, name, instead, LIMIT)) is not False:
            return ""
        return (
            f"its answers are the same with {instead} in place of the input {name}, and the"
            " reference's are not: no case tells that it is left out"
        )

    def _wrong(self, program: Program, name: str, instead: Instead) -> str:
        """What is wrong with a program's answers with something in the place of an input."""
        wrong = self._compared(program, name, instead)
        return f"with {instead} in place of the input {name} it is wrong: {wrong}" if wrong else ""

    def _compared(self, program: Program, name: str, instead: Instead) -> str | None:
        """As :class:`AgreesWith` answers; None where something does not end."""
        if self._reference is None:
            return None
        answer = self.pool.one(AgreesWith(program, self._reference, name, instead, LIMIT))
        return answer if isinstance(answer, str) else None

    @cached_property
    def _comparable(self) -> tuple[tuple[str, Instead], ...]:
        """What may be in the place of which inputs, so that the reference's answers are fit to
        compare with."""
        return tuple(
            (name, instead)
            for name, possible in inputs(self.subject.target).items()
            for instead in possible
            if self._reference and self._compared(self._reference, name, instead) == ""
        )

    @cached_property
    def _decisive(self) -> dict[str, Instead]:
        """The inputs on which the reference's answers depend, and what shows that."""
        found = {
            name: next(filter(partial(self._decides, name), possible), None)
            for name, possible in inputs(self.subject.target).items()
        }
        return {name: instead for name, instead in found.items() if instead is not None}

    def _decides(self, name: str, instead: Instead) -> bool:
        # Where a launch does not end by an answer, that is neither true nor false.
        return self._reference is not None and (
            self.pool.one(DependsOn(self._reference, name, instead, LIMIT)) is True
        )

    @cached_property
    def _reference(self) -> Program | None:
        return self._program(unmodified(self.subject), "reference")

    def _program(self, one: Candidate, name: str) -> Program | None:
        """What to run; None: it does not compile.

        Args:
            name: of the folder for its binary.
        """
        (built,) = build_candidates(self.compiler, [one], self.folder / name)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)
