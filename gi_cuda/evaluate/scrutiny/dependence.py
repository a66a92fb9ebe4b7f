"""Does a variant do with each input what the reference does?

Where the part of an input in the answers is smaller than what the oracle allows, or a number that a
kernel gets is never what limits it, a variant that puts a constant in its place is right on all
cases, and wrong; so is one that takes one of two numbers for the other, where they are the same in
all cases. With something else in the place of an input, the answers have to become other ones, and
be those of the reference. Nothing of which that is not so is certified.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import AgreesWith, DependsOn, InOneTurn, KeepsNothing
from gi_cuda.backends.protocol.substitutes import Substitute, Substituted
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, as_candidate, build_candidates, unmodified
from gi_cuda.evaluate.scrutiny.objections import Look, Objection, Ruling
from gi_cuda.evaluate.scrutiny.other_inputs import QUICK, derived_sizes, inputs
from gi_cuda.results.measurement import Survival
from gi_cuda.spec import Configuration
from gi_cuda.spec.other_sizes import OtherSize
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


SECONDS: Final = 6.0
"""Seconds after which no further thing is begun in a thorough look: once for what the reference
answers, and for each candidate."""

LAUNCHES: Final = 12
"""Times that a candidate is launched while its variables keep what launches leave in them."""


@dataclass(frozen=True, slots=True)
class _Told:
    """Something that is wrong.

    Attributes:
        said: in words.
        shown: what shows it; None: launches one after the other do.
        code, ruling: as :class:`.Objection` has them.
    """

    said: str
    shown: Substituted | None
    code: str = "wrong-answers"
    ruling: Ruling = Ruling.INCORRECT


class _Only(StrEnum):
    """Parts of a look."""

    ALL = "all"
    STATE = "launches one after the other"


_Part: TypeAlias = _Only | Substituted
"""What is looked at again."""


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
        each: so many things are tried in the place of each input in a quick look, the first ones.
        patience: with launches that do not end.
    """

    subject: Subject
    compiler: Compiler
    pool: Pool[int]
    folder: Path
    cases: tuple[str, ...]
    elsewhere: Callable[[Sequence[Substituted]], frozenset[str]] = nobody_knows
    each: int = QUICK
    patience: Patience = Patience()
    _originals: dict[Configuration, _Original] = field(
        default_factory=dict, repr=False, compare=False
    )
    _looks: dict[tuple[bool, _Part], Look] = field(default_factory=dict, repr=False, compare=False)

    def objection(self, one: Candidate) -> str:
        """What a quick look has against a candidate, in words; "" where nothing is."""
        (found,) = self.objections([one])
        return found.said if found else ""

    def objections(
        self, some: Sequence[Candidate], thorough: bool = False
    ) -> list[Objection | None]:
        """What fails each of several, which are compiled in one batch; None where nothing does.

        Args:
            thorough: whether it is looked at what a quick look leaves out, instead of the rest.
        """
        return [
            next(
                (found for told in all_told if (found := self._objection(told, thorough)).fails),
                None,
            )
            for all_told in self._found(some, thorough)
        ]

    def findings(self, one: Candidate) -> list[Objection]:
        """All that stands against a candidate."""
        return [
            self._objection(told, thorough)
            for thorough in (False, True)
            for told in self._found([one], thorough)[0]
        ]

    def _objection(self, told: _Told, thorough: bool) -> Objection:
        part = _Only.STATE if told.shown is None else told.shown
        look = self._looks.setdefault((thorough, part), partial(self._said, thorough, part))
        return Objection(told.said, look, quick=True, code=told.code, ruling=told.ruling)

    def _said(self, thorough: bool, part: _Part, some: Sequence[Candidate]) -> list[str]:
        """What is wrong with each of several with that in the place of that input."""
        return [told[0].said if told else "" for told in self._found(some, thorough, part)]

    def _found(
        self, some: Sequence[Candidate], thorough: bool, part: _Part = _Only.ALL
    ) -> list[list[_Told]]:
        if not self._inputs and not thorough:
            return [[] for _ in some]
        built = build_candidates(self.compiler, some, self.folder / "variant")
        self._prepare([self.subject.standard, *map(self._own, some)])
        return [
            []
            if isinstance(made, BuildFailure)
            else self._held_against(one).told(one.program(made, self.cases), thorough, part)
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
        return _Original(self.pool, built, self._fit, self.patience)

    def _fit(self, thorough: bool) -> Mapping[Substituted, bool]:
        """What may be in the place of which inputs, and whether the reference's answers are fit to
        compare with then: acceptable where it rounds otherwise, and at another pace, and in another
        order of threads where one can be chosen. With another size, threads may write where others
        read."""
        return self._fit_thoroughly if thorough else self._fit_quickly

    @cached_property
    def _fit_quickly(self) -> dict[Substituted, bool]:
        return self._tried({name: some[: self.each] for name, some in self._inputs.items()})

    @cached_property
    def _fit_thoroughly(self) -> dict[Substituted, bool]:
        sizes: dict[str, Sequence[Substitute | OtherSize]]
        sizes = {one.words: (one,) for one in self._sizes}
        rest = {name: some[self.each :] for name, some in self._inputs.items()}
        return self._tried({**sizes, **rest}, time.monotonic() + SECONDS)

    def _tried(
        self, asked: Mapping[str, Sequence[Substitute | OtherSize]], until: float = math.inf
    ) -> dict[Substituted, bool]:
        """What was tried in the place of which inputs, and whether it tells something; of a size
        that is not planned anew, only where it does.

        Args:
            until: on the monotonic clock, when nothing more is begun.
        """
        program = self._originals[self.subject.standard].program
        if program is None:
            return {}
        jobs: list[Callable[[], Any]] = [
            partial(self._compared, program, asked, until),
            partial(self._unsettled, asked),
        ]
        tried, unsettled = at_once(jobs)
        order = list(asked)
        fit = {
            pair: tried[pair] and pair[0] not in unsettled
            for pair in sorted(tried, key=lambda pair: order.index(pair[0]))
        }
        return {pair: yes for pair, yes in fit.items() if yes or pair[0] not in self._whole}

    def _compared(
        self,
        program: Program,
        asked: Mapping[str, Sequence[Substitute | OtherSize]],
        until: float,
    ) -> dict[Substituted, bool]:
        """What may be in the place of which inputs, and whether the reference answers the same
        where it rounds otherwise, at another pace where that can be had. Of an input no more is
        tried once a launch does not end by itself."""
        one = unmodified(self.subject)
        otherwise = None
        if other := self.compiler.differently(one.options):
            otherwise = self._built(replace(one, compiler=other), self.folder / "otherwise")
        found: dict[Substituted, bool] = {}
        left = dict(asked)
        for turn in range(max(map(len, left.values()), default=0)):
            pairs = [(name, some[turn]) for name, some in left.items() if turn < len(some)]
            requests = _agreeing(otherwise or program, program, pairs, self.patience)
            answers = _answers(self.pool, requests, self.patience.in_one_turn, until=until)
            for pair, answer in zip(pairs, answers, strict=True):
                if isinstance(answer, Lost):
                    del left[pair[0]]
                else:
                    found[pair] = answer == ""
        return found

    def _unsettled(self, asked: Mapping[str, Sequence[Substitute | OtherSize]]) -> frozenset[str]:
        """The sizes of which some make the reference's answers a matter of the order of threads."""
        return self.elsewhere(
            [
                (name, one)
                for name, some in asked.items()
                for one in some
                if name in self._whole or isinstance(one, OtherSize)
            ]
        )

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The scalars that are integers."""
        return frozenset(one.name for one in self.subject.target.scalars if one.dtype.kind != "f")

    @cached_property
    def _inputs(self) -> Mapping[str, tuple[Substitute, ...]]:
        """What may be something else, and what is tried in its place."""
        return inputs(self.subject.target, planned=bool(self._sizes))

    @cached_property
    def _sizes(self) -> list[OtherSize]:
        """Cases of other sizes."""
        return derived_sizes(self.subject.target, self._known_cases, self.subject.reference)

    @cached_property
    def _known_cases(self) -> list[str]:
        """The names of the back end's cases."""
        cases = self.subject.target.cases
        return [one.name for one in cases if self.subject.backend in one.backends]

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
        fit: as :class:`Dependence` finds it out.
        patience: as :class:`Dependence` has it.
    """

    pool: Pool[int]
    program: Program | None
    fit: Callable[[bool], Mapping[Substituted, bool]]
    patience: Patience

    def told(self, program: Program, thorough: bool, part: _Part) -> list[_Told]:
        """What is wrong with a program's answers where something is in the place of an input.

        Args:
            thorough: as :meth:`Dependence.objections` has it.
            part: what is looked at.
        """
        if not thorough:
            return self._left_out(program, part) or self._wrong(program, False, part)
        found = self._wrong(program, True, part)
        if part in (_Only.ALL, _Only.STATE):
            found += self._keeping(program, [told.shown for told in found])
        return found

    def _left_out(self, program: Program, part: _Part) -> list[_Told]:
        """Which input a program's answers do not change with where the original's do."""
        pairs = [one for one in self.decisive.items() if part in (_Only.ALL, one)]
        asked = _depending(program, pairs, self.patience)
        answers = _answers(self.pool, asked, self.patience.in_one_turn, self.patience.goes_on)
        return [
            _Told(
                f"its answers are the same with {pair[1]} in place of the input {pair[0]}, and"
                " the reference's are not: no case tells that it is left out",
                pair,
                "input-left-out",
            )
            for pair, answer in zip(pairs, answers, strict=True)
            if answer is False
        ]

    def _wrong(self, program: Program, thorough: bool, part: _Part) -> list[_Told]:
        """What is wrong with a program's answers; nothing is known where a launch does not end."""
        if self.program is None:
            return []
        pairs = [one for one, fit in self.fit(thorough).items() if fit and part in (_Only.ALL, one)]
        asked = _agreeing(program, self.program, pairs, self.patience)
        until = time.monotonic() + SECONDS if thorough else math.inf
        given = self.pool, asked, self.patience.in_one_turn, self.patience.goes_on
        answers = _answers(*given, until=until)
        return [
            _told(pair, wrong)
            for pair, answer in zip(pairs, answers, strict=True)
            if (wrong := _why(answer))
        ]

    def _keeping(self, program: Program, without: Collection[Substituted | None]) -> list[_Told]:
        """What is wrong with a program's answers in launches one after the other.

        Args:
            without: what it is wrong with already.
        """
        if self.program is None:
            return []
        known = [one for one, fit in self.fit(True).items() if fit and one not in without]
        sizes = [one for one in known if isinstance(one[1], OtherSize)]
        quick = self.fit(False)
        other = [one for one in self.decisive.items() if quick.get(one) and _ordinary(one[1])]
        others = (*other[:3], *sizes[-1:])
        asked = KeepsNothing(program, self.program, others, LAUNCHES, self.patience.limit)
        (answer,) = _answers(self.pool, [asked], self.patience.in_one_turn)
        if not (wrong := _why(answer)):
            return []
        said = f"what launches leave in its variables makes later ones wrong: {wrong}"
        return [_Told(said, None, "state-between-launches")]

    @cached_property
    def decisive(self) -> dict[str, Substitute]:
        """The inputs on which its answers depend, and what shows that first."""
        if self.program is None:
            return {}
        found: dict[str, Substitute] = {}
        left = [(name, one) for name, one in self.fit(False) if isinstance(one, Substitute)]
        while pairs := dict(reversed(left)).items():
            # One of each input at a time: of most the first one shows it.
            asked = _depending(self.program, pairs, self.patience)
            answers = _answers(self.pool, asked, self.patience.in_one_turn)
            found |= {name: v for (name, v), yes in zip(pairs, answers, strict=True) if yes is True}
            left = [pair for pair in left if pair not in pairs and pair[0] not in found]
        return found


def _ordinary(one: Substitute | OtherSize) -> bool:
    """Whether answers are compared as with what the case gives."""
    return isinstance(one, Substitute) and not (one.to_overflow or one.special)


def _why(answer: object) -> str:
    """What an answer to :class:`AgreesWith` says is wrong; a program that crashes is."""
    if isinstance(answer, Lost) and answer.survival is Survival.CRASHED:
        return answer.message
    return answer if isinstance(answer, str) else ""


def _told(pair: Substituted, wrong: str) -> _Told:
    """That a program is wrong with something in the place of an input."""
    name, other = pair
    if isinstance(other, OtherSize):
        return _Told(f"with {other} it is wrong: {wrong}", pair, "other-size")
    said = f"with {other} in place of the input {name} it is wrong: {wrong}"
    if other.special:
        return _Told(said, pair, "special-values", Ruling.UNVERIFIED)
    return _Told(said, pair, "other-input")


def _depending(
    program: Program, pairs: Collection[Substituted], patience: Patience
) -> list[DependsOn]:
    return [
        DependsOn(program, name, other, patience.limit)
        for name, other in pairs
        if isinstance(other, Substitute)
    ]


def _agreeing(
    program: Program, reference: Program, pairs: Collection[Substituted], patience: Patience
) -> list[AgreesWith]:
    return [AgreesWith(program, reference, *pair, patience.limit) for pair in pairs]


def _answers(
    pool: Pool[int],
    requests: Sequence[DependsOn | AgreesWith | KeepsNothing],
    in_one_turn: bool,
    goes_on: bool = True,
    *,
    until: float = math.inf,
) -> list[bool | str | Lost | None]:
    """What workers that are there answer, in order: as :class:`DependsOn` and :class:`AgreesWith`
    say, or that a launch does not end.

    Args:
        in_one_turn: whether one worker is to answer all of them at once.
        goes_on: whether others are asked then; if not, theirs are None.
        until: on the monotonic clock, when nothing more is begun.
    """
    if in_one_turn:
        ((_, told),) = pool.map([(0, InOneTurn(tuple(requests)))])
        if isinstance(told, list):
            return told
    answers: dict[int, Any] = {}
    with closing(pool.map(enumerate(requests))) as found:
        for at, answer in found:
            answers[at] = answer
            late = time.monotonic() >= until
            if late or (isinstance(answer, Lost) and not goes_on):
                break
    return [answers.get(at) for at in range(len(requests))]
