"""Does a variant do with each input what the reference does?

Where the part of an input in the answers is smaller than what the oracle allows, or a number that a
kernel gets is never what limits it, a variant that puts a constant in its place is right on all
cases, and wrong; so is one that takes one of two numbers for the other, where they are the same in
all cases. With something else in the place of an input, the answers have to become other ones, and
be those of the reference. Nothing of which that is not so is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import AgreesWith, DependsOn, InOneTurn
from gi_cuda.backends.protocol.substitutes import Substitute, Substituted
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.scrutiny.objections import Look, Objection
from gi_cuda.spec import BufferRole, Configuration, Target
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Patience:
    """How long launches are waited for that do not end.

    Attributes:
        limit: seconds after which one with something else counts as hung.
        goes_on: whether a candidate is still asked about other inputs then.
        in_one_turn: whether all is asked at once: beside a search each turn at the device has to be
            waited for. What does not end is then asked one after the other, as else.
    """

    limit: float = 10.0
    goes_on: bool = True
    in_one_turn: bool = False


def inputs(target: Target) -> dict[str, tuple[Substitute, ...]]:
    """What may be something else, and what that may be, in the order in which to try.

    These are buffers in plain memory that the case gives and that hold no addresses, and scalars
    that are passed to a kernel. Integers decide how much there is to do, so half of one is tried
    first, and 0 last, with which a kernel may divide.
    """
    read_through = {one.buffer for one in target.textures}
    buffers = {
        one.name: (Substitute.ZERO, *_CONTENTS.get(one.dtype.str[1:], ()))
        for one in target.buffers
        if one.role.given
        and one.symbol is None
        and not one.addresses
        and one.name not in read_through
    }
    passed = {name for one in target.launches for step in one.steps for name in target.passed(step)}
    scalars = {
        one.name: _REAL if one.dtype.kind == "f" else _WHOLE
        for one in target.scalars
        if one.name in passed and not one.redraw
    }
    return {**buffers, **scalars}


_OF_REAL = (Substitute.NEGATIVE, Substitute.FIVEFOLD, Substitute.THOUSANDFOLD)
_CONTENTS = {
    **dict.fromkeys(("f2", "f4", "f8"), _OF_REAL),
    **dict.fromkeys(("i8", "u8"), (Substitute.UPPER,)),
}
"""What else may be in the place of a buffer, by numpy's name of its type."""

_REAL = (Substitute.MORE, Substitute.ZERO, Substitute.FIVEFOLD)
_WHOLE = (Substitute.HALF, Substitute.ONE, Substitute.TWO, Substitute.ZERO)


def real_inputs(target: Target) -> list[str]:
    """Those that are buffers of real numbers, which are only read."""
    found = inputs(target)
    return [
        one.name
        for one in target.buffers
        if one.name in found and one.role is BufferRole.INPUT and one.dtype.kind == "f"
    ]


_Told: TypeAlias = tuple[str, Substituted | None]
"""What is wrong, in words, and what shows it."""

_NOTHING: Final[_Told] = ("", None)


def all_unsettled(some: Sequence[Substituted]) -> frozenset[str]:
    """All inputs of some substitutions, where nobody finds out which are settled."""
    return frozenset(name for name, _ in some)


def nobody_knows(some: Sequence[Substituted]) -> frozenset[str]:
    """No input of some substitutions."""
    return frozenset()


@dataclass(frozen=True)
class Dependence:
    """Looks at what candidates do with other inputs.

    Parameters are alternatives that the target offers, and may read the same from another buffer,
    in another layout: candidates are held against the source in their configuration. Where that
    leaves out an input and takes none in its place, against the source as it is.

    Attributes:
        compiler: the back end's.
        pool: workers of a session that has the cases.
        folder: for binaries.
        cases: names of the cases.
        elsewhere: asks with which inputs of some substitutions it is a matter of the order of
            threads what the reference answers, where that can be found out.
        each: so many things are tried in the place of each input, the first ones; None: all.
        patience: with launches that do not end.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]
    elsewhere: Callable[[Sequence[Substituted]], frozenset[str]] = nobody_knows
    each: int | None = None
    patience: Patience = Patience()
    _originals: dict[Configuration, _Original] = field(
        default_factory=dict, repr=False, compare=False
    )
    _looks: dict[Substituted, Look] = field(default_factory=dict, repr=False, compare=False)

    def objection(self, one: Candidate) -> str:
        """What stands against a candidate, in words; "" where nothing does."""
        (found,) = self.objections([one])
        return found.said if found else ""

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """What stands against each of several, which are compiled in one batch; None where nothing
        does."""
        return [
            Objection(said, self._looks.setdefault(told, partial(self._said, told)), quick=True)
            if told
            else None
            for said, told in self._found(some, None)
        ]

    def _said(self, only: Substituted, some: Sequence[Candidate]) -> list[str]:
        """What is wrong with each of several with that in the place of that input."""
        return [said for said, _ in self._found(some, only)]

    def _found(self, some: Sequence[Candidate], only: Substituted | None) -> list[_Told]:
        if not self._inputs:
            return [_NOTHING] * len(some)
        built = build_candidates(self.compiler, some, self.folder / "variant")
        self._prepare([self.subject.standard, *map(self._own, some)])
        return [
            _NOTHING
            if isinstance(made, BuildFailure)
            else self._held_against(one).told(one.program(made, self.cases), only)
            for one, made in zip(some, built, strict=True)
        ]

    def _held_against(self, one: Candidate) -> _Original:
        """What a candidate is held against."""
        own, whole = self._originals[self._own(one)], self._originals[self.subject.standard]
        return whole if own.decisive.keys() < whole.decisive.keys() else own

    def _own(self, one: Candidate) -> Configuration:
        """A candidate's configuration, without the launches of its transformations: these fit its
        own text alone."""
        return self.subject.space.chosen(one.configuration)

    def _prepare(self, configurations: Sequence[Configuration]) -> None:
        """Compile the source in configurations in which it was not yet, all at once."""
        new = [one for one in dict.fromkeys(configurations) if one not in self._originals]
        places = [self.folder / str(len(self._originals) + number) for number in range(len(new))]
        made = at_once([partial(self._of, *one) for one in zip(new, places, strict=True)])
        self._originals.update(zip(new, made, strict=True))

    def _of(self, configuration: Configuration, folder: Path) -> _Original:
        """The source in a configuration."""
        one = as_candidate(self.subject, self.subject.reference, configuration)
        built = self._built(one, folder)
        return _Original(self.pool, built, lambda: self._tried, self.patience)

    @cached_property
    def _tried(self) -> dict[Substituted, bool]:
        """What may be in the place of which inputs, and whether the reference's answers are fit to
        compare with then: acceptable where it rounds otherwise, and at another pace, and in another
        order of threads where one can be chosen. With another size, threads may write where others
        read."""
        program = self._originals[self.subject.standard].program
        if program is None:
            return {}
        jobs: list[Callable[[], Any]] = [partial(self._compared, program), self._unsettled]
        tried, unsettled = at_once(jobs)
        order = list(self._inputs)
        return {
            pair: tried[pair] and pair[0] not in unsettled
            for pair in sorted(tried, key=lambda pair: order.index(pair[0]))
        }

    def _compared(self, program: Program) -> dict[Substituted, bool]:
        """What may be in the place of which inputs, and whether the reference answers the same
        where it rounds otherwise, at another pace where that can be had. Of an input no more is
        tried once a launch does not end by itself."""
        one = unmodified(self.subject)
        otherwise = None
        if other := self.compiler.differently(one.options):
            otherwise = self._built(replace(one, compiler=other), self.folder / "otherwise")
        found: dict[Substituted, bool] = {}
        left = dict(self._inputs)
        for turn in range(max(map(len, left.values()), default=0)):
            pairs = [(name, some[turn]) for name, some in left.items() if turn < len(some)]
            asked = _agreeing(otherwise or program, program, pairs, self.patience)
            answers = _answers(self.pool, asked, self.patience.in_one_turn)
            for pair, answer in zip(pairs, answers, strict=True):
                if isinstance(answer, Lost):
                    del left[pair[0]]
                else:
                    found[pair] = answer == ""
        return found

    def _unsettled(self) -> frozenset[str]:
        """The sizes of which some make the reference's answers a matter of the order of threads."""
        sizes = {one.name for one in self.subject.target.scalars if one.dtype.kind != "f"}
        found = self._inputs.items()
        return self.elsewhere(
            [(name, one) for name, some in found if name in sizes for one in some]
        )

    @cached_property
    def _inputs(self) -> Mapping[str, tuple[Substitute, ...]]:
        """What may be something else, and what is tried in its place."""
        found = inputs(self.subject.target)
        return {name: some[: self.each] for name, some in found.items()}

    def _built(self, one: Candidate, folder: Path) -> Program | None:
        """What to run; None: it does not compile."""
        (built,) = build_candidates(self.compiler, [one], folder)
        return None if isinstance(built, BuildFailure) else one.program(built, self.cases)


@dataclass(frozen=True)
class _Original:
    """The source without edits in some configuration.

    Attributes:
        pool: as :class:`Dependence` has it.
        program: what it is compiled to; None: it does not compile.
        tried: gives what may be in the place of which inputs, and whether that tells something.
        patience: as :class:`Dependence` has it.
    """

    pool: Pool[int]
    program: Program | None
    tried: Callable[[], Mapping[Substituted, bool]]
    patience: Patience

    def told(self, program: Program, only: Substituted | None = None) -> _Told:
        """What is wrong with a program's answers where something is in the place of an input.

        Args:
            only: that in the place of that input; None: all that is tried.
        """
        said = self._left_out(program, only)
        return said if said is not _NOTHING else self._wrong(program, only)

    def _left_out(self, program: Program, only: Substituted | None) -> _Told:
        """Which input a program's answers do not change with where the original's do."""
        pairs = [one for one in self.decisive.items() if only in (None, one)]
        asked = _depending(program, pairs, self.patience)
        answers = _answers(self.pool, asked, self.patience.in_one_turn, self.patience.goes_on)
        for pair, answer in zip(pairs, answers, strict=True):
            if answer is False:
                return (
                    f"its answers are the same with {pair[1]} in place of the input {pair[0]}, and"
                    " the reference's are not: no case tells that it is left out"
                ), pair
        return _NOTHING

    def _wrong(self, program: Program, only: Substituted | None) -> _Told:
        """What is wrong with a program's answers; nothing is known where a launch does not end."""
        if self.program is None:
            return _NOTHING
        pairs = [one for one, fit in self.tried().items() if fit and only in (None, one)]
        asked = _agreeing(program, self.program, pairs, self.patience)
        answers = _answers(self.pool, asked, self.patience.in_one_turn, self.patience.goes_on)
        for pair, wrong in zip(pairs, answers, strict=True):
            if isinstance(wrong, str) and wrong:
                return f"with {pair[1]} in place of the input {pair[0]} it is wrong: {wrong}", pair
        return _NOTHING

    @cached_property
    def decisive(self) -> dict[str, Substitute]:
        """The inputs on which its answers depend, and what shows that first."""
        if self.program is None:
            return {}
        found: dict[str, Substitute] = {}
        left = list(self.tried())
        while pairs := dict(reversed(left)).items():
            # One of each input at a time: of most the first one shows it.
            asked = _depending(self.program, pairs, self.patience)
            answers = _answers(self.pool, asked, self.patience.in_one_turn)
            found |= {name: v for (name, v), yes in zip(pairs, answers, strict=True) if yes is True}
            left = [pair for pair in left if pair not in pairs and pair[0] not in found]
        return found


def _depending(
    program: Program, pairs: Collection[Substituted], patience: Patience
) -> list[DependsOn | AgreesWith]:
    return [DependsOn(program, *pair, patience.limit) for pair in pairs]


def _agreeing(
    program: Program, reference: Program, pairs: Collection[Substituted], patience: Patience
) -> list[DependsOn | AgreesWith]:
    return [AgreesWith(program, reference, *pair, patience.limit) for pair in pairs]


def _answers(
    pool: Pool[int],
    requests: Sequence[DependsOn | AgreesWith],
    in_one_turn: bool,
    goes_on: bool = True,
) -> list[bool | str | Lost | None]:
    """What workers that are there answer, in order: as :class:`DependsOn` and :class:`AgreesWith`
    say, or that a launch does not end.

    Args:
        in_one_turn: whether one worker is to answer all of them at once.
        goes_on: whether others are asked then; if not, theirs are None.
    """
    if in_one_turn:
        ((_, told),) = pool.map([(0, InOneTurn(tuple(requests)))])
        if isinstance(told, list):
            return told
    answers: dict[int, Any] = {}
    with closing(pool.map(enumerate(requests))) as found:
        for at, answer in found:
            answers[at] = answer
            if isinstance(answer, Lost) and not goes_on:
                break
    return [answers.get(at) for at in range(len(requests))]
