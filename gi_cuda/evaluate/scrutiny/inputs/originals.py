"""Comparison of programs with the original source, with substituted inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias

from gi_cuda.backends.protocol.input_requests import (
    AgreesWith,
    DependsOn,
    Effect,
    KeepsNothing,
    TellVarying,
    Varying,
)
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.substitutes import InPlace, Joint, Other, Substitute, Substituted
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.scrutiny.objections import NOTHING_VARIES, Ruling
from gi_cuda.results.measurement import Survival
from gi_cuda.spec.case_data.other_sizes import OtherCase


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits for tests with substituted inputs.

    Attributes:
        limit: seconds after which a launch with a substitute counts as hung.
        goes_on: whether further inputs of a candidate are tested after one of them hung.
        seconds: seconds after which a thorough check begins no further test: once for the
            reference, and twice as long for each candidate.
    """

    limit: float = 10.0
    goes_on: bool = True
    seconds: float = 8.0


THOROUGH: Final = Patience(seconds=30.0)
"""Limits for external rewrites, which are tested as completely as possible."""

NOT_ASKED: Final = object()
"""Placeholder for an answer, if there was no time for the test."""

FEW: Final = 0.1
"""Share of the outputs that has to change with some substitute; else the outputs say too little."""

LAUNCHES: Final = 12
"""Number of repeated launches in which a candidate's variables keep their values."""


@dataclass(frozen=True, slots=True)
class Told:
    """A fault of a candidate.

    Attributes:
        said: description in words.
        shown: substitute that shows the fault; None if repeated launches show it.
        code, ruling: see :class:`.Objection`.
    """

    said: str
    shown: Substituted | None
    code: str = "wrong-answers"
    ruling: Ruling = Ruling.INCORRECT


class Only(StrEnum):
    """Parts of a check."""

    ALL = "all"
    STATE = "launches one after the other"


Part: TypeAlias = Only | Substituted
"""The part of a check that is repeated."""

Fits: TypeAlias = Mapping[Substituted, bool | None]
"""Substitutes that were tried on the reference, each with whether it is usable; None if there was
no time to try it. A substitute is usable if the outputs stay acceptable with different rounding, at
another speed and, if it can be chosen, in another order of threads. (With another size, threads may
write where others read.)"""


@dataclass(frozen=True)
class Original:
    """The unmodified source in one configuration.

    Attributes:
        pool: see :class:`.Dependence`.
        program: the compiled source; None if it does not compile.
        fit: returns the substitutes with their usability, see :class:`.Dependence`.
        patience: see :class:`.Dependence`.
        alike: a source that reads the same inputs, whose effects are reused; None if there is none.
    """

    pool: Pool[int]
    program: Program | None
    fit: Callable[[bool], Fits]
    patience: Patience
    alike: Original | None = None
    _lost: dict[Substituted, bool] = field(default_factory=dict, repr=False, compare=False)

    def told(self, program: Program, thorough: bool, part: Part) -> list[Told]:
        """Return the faults in a program's outputs with substituted inputs.

        Args:
            thorough: see :meth:`.Dependence.objections`.
            part: the part of the check.
        """
        fit = self.fit(thorough)
        pairs = [one for one, yes in fit.items() if yes and part in (Only.ALL, one)]
        if not thorough:
            return self._left_out(program, part) or self.wrong(program, pairs)
        found = self.wrong(program, pairs, time.monotonic() + 2 * self.patience.seconds)
        if part in (Only.ALL, Only.STATE):
            found += self._keeping(program, [told.shown for told in found])
        return found

    def _left_out(self, program: Program, part: Part) -> list[Told]:
        """Return the inputs that affect the original's outputs but not the program's.

        An input is not tested if its substitute changes the outputs beyond the tolerance, because a
        program that ignores it fails the comparison with the original anyway.
        """
        compared = self.fit(False)
        pairs = [
            (name, other)
            for name, (other, effect) in self._effects.items()
            if part in (Only.ALL, (name, other))
            and not (effect is Effect.TOLD and compared.get((name, other)))
        ]
        asked = _depending(program, pairs, self.patience)
        answers = answers_of(self.pool, asked, self.patience.goes_on)
        return [
            Told(
                f"its answers are the same with {pair[1]} in place of the input {pair[0]}, and"
                " the reference's are not: no case tells that it is left out",
                pair,
                "input-left-out",
            )
            for pair, answer in zip(pairs, answers, strict=True)
            if answer is Effect.NONE
        ]

    def wrong(
        self, program: Program, pairs: Sequence[Substituted], until: float = math.inf
    ) -> list[Told]:
        """Return the faults in a program's outputs with the given substitutes.

        Args:
            pairs: names of inputs with their substitutes.
            until: time on the monotonic clock after which no further test begins.
        """
        if self.program is None:
            return []
        asked = agreeing(program, self.program, pairs, self.patience)
        answers = answers_of(self.pool, asked, self.patience.goes_on, until=until)
        found = [
            _told(pair, *why)
            for pair, answer in zip(pairs, answers, strict=True)
            if (why := _why(answer)) and not (isinstance(answer, Lost) and self._is_lost(pair))
        ]
        return [*found, *not_tried(answers.count(NOT_ASKED))]

    def agrees(self, program: Program, pair: Substituted) -> bool:
        """Tell whether a program is known to give the original's outputs with a substitute."""
        if self.program is None:
            return False
        asked = agreeing(program, self.program, [pair], self.patience)
        return answers_of(self.pool, asked) == [""]

    def _is_lost(self, pair: Substituted) -> bool:
        """Tell whether the original itself crashes or hangs with a substitute.

        The substitute was tried on the source in another configuration only.
        """
        if pair not in self._lost:
            assert self.program is not None, "something was held against it"
            asked = agreeing(self.program, self.program, [pair], self.patience)
            (answer,) = answers_of(self.pool, asked)
            self._lost[pair] = isinstance(answer, Lost)
        return self._lost[pair]

    def _keeping(self, program: Program, without: Collection[Substituted | None]) -> list[Told]:
        """Return the faults that show only in repeated launches.

        Args:
            without: substitutes with which the program is known to be wrong.
        """
        if self.program is None:
            return []
        known = [one for one, fit in self.fit(True).items() if fit and one not in without]
        sizes = [one for one in known if isinstance(one[1], OtherCase) and not one[1].reseeded]
        quick = self.fit(False)
        other = [one for one in self.decisive.items() if quick.get(one) and ordinary(one[1])]
        others = (*other[:3], *sizes[-1:])
        asked = KeepsNothing(program, self.program, others, LAUNCHES, self.patience.limit)
        (answer,) = answers_of(self.pool, [asked])
        if not (why := _why(answer)) or len(why) > 1:
            return []
        said = f"what launches leave in its variables makes later ones wrong: {why[0]}"
        return [Told(said, None, "state-between-launches")]

    @cached_property
    def hardly_varying(self) -> list[Told]:
        """The fault that hardly any output changes with any substitute; empty if there is none."""
        every = {**self.fit(False), **self.fit(True)}
        others = tuple(one for one, fit in every.items() if fit and ordinary(one[1]))
        if self.program is None or not others:
            return []
        request = TellVarying(self.program, others, self.patience.limit)
        (answer,) = answers_of(self.pool, [request])
        if not isinstance(answer, Varying):
            return []
        few = {
            name: (some, size)
            for name, (some, size) in answer.elements.items()
            if some < FEW * size
        }
        if not few or len(few) < len(answer.elements):
            return []
        shown = ", ".join(
            f"{some} of {size} elements of {name}" for name, (some, size) in few.items()
        )
        if not any(some for some, _ in few.values()):
            said = "no other input changes what the reference writes: nothing tells what is right"
            return [Told(said, None, NOTHING_VARIES, Ruling.UNVERIFIED)]
        said = f"of what the reference writes only {shown} change with any other input"
        return [Told(said, None, "few-distinct-outputs", Ruling.UNVERIFIED)]

    @property
    def decisive(self) -> dict[str, Substitute]:
        """The inputs that affect the outputs, each with the first substitute that shows it."""
        return {name: other for name, (other, _) in self._effects.items()}

    @cached_property
    def _effects(self) -> dict[str, tuple[Substitute, Effect]]:
        """The inputs that affect the outputs, each with that substitute and the effect."""
        if self.alike is not None:
            return self.alike._effects
        if self.program is None:
            return {}
        found: dict[str, tuple[Substitute, Effect]] = {}
        left = [(name, one) for name, one in self.fit(False) if isinstance(one, Substitute)]
        while pairs := dict(reversed(left)).items():
            # One substitute of each input per round: for most inputs the first shows the effect.
            asked = _depending(self.program, pairs, self.patience)
            answers = answers_of(self.pool, asked)
            for (name, other), effect in zip(pairs, answers, strict=True):
                if effect in (Effect.SMALL, Effect.TOLD):
                    found[name] = other, effect
            left = [pair for pair in left if pair not in pairs and pair[0] not in found]
        return found


def ordinary(one: Other) -> bool:
    """Tell whether outputs with a substitute are compared in the same way as those of the case
    itself.
    """
    if isinstance(one, OtherCase):
        return True
    return not (one.special or (isinstance(one, Substitute) and one.to_overflow))


def _why(answer: object) -> tuple[str, ...]:
    """Return the fault in an answer to :class:`AgreesWith`, and a code if the launch hung.

    A crash is a fault.
    """
    if isinstance(answer, Lost):
        hung = answer.survival is Survival.HUNG
        return (answer.message, "hangs") if hung else (answer.message,)
    return (answer,) if isinstance(answer, str) and answer else ()


def _told(pair: Substituted, wrong: str, code: str = "") -> Told:
    """Return the fault of a program with a substitute; with a code, that its outputs are
    unknown.
    """
    name, other = pair
    where = f"{other} in place of the input {name}" if isinstance(other, Substitute) else other
    if code:
        said = f"with {where} it takes so long that its answers are not known: {wrong}"
        return Told(said, pair, code, Ruling.UNVERIFIED)
    said = f"with {where} it is wrong: {wrong}"
    if not isinstance(other, OtherCase) and other.special:
        code = "in-place" if isinstance(other, InPlace) else "special-values"
        return Told(said, pair, code, Ruling.UNVERIFIED)
    return Told(said, pair, _code(other))


def _code(other: Other) -> str:
    if isinstance(other, OtherCase):
        return "other-data" if other.reseeded else "other-size"
    return "other-size" if isinstance(other, Joint) and other.case else "other-input"


def not_tried(late: int) -> list[Told]:
    """Return the fault that a number of substitutes were not tried; empty if all were."""
    said = f"for want of time {late} other sizes or contents of inputs were not tried"
    return [Told(said, None, "not-tried", Ruling.UNVERIFIED)] if late else []


def _depending(
    program: Program, pairs: Collection[Substituted], patience: Patience
) -> list[DependsOn]:
    return [
        DependsOn(program, name, other, patience.limit)
        for name, other in pairs
        if isinstance(other, Substitute)
    ]


def agreeing(
    program: Program, reference: Program, pairs: Collection[Substituted], patience: Patience
) -> list[AgreesWith]:
    """Return the requests to compare a program with the reference, one for each substitute."""
    return [AgreesWith(program, reference, *pair, patience.limit) for pair in pairs]


def answers_of(
    pool: Pool[int],
    requests: Sequence[DependsOn | AgreesWith | KeepsNothing | TellVarying],
    goes_on: bool = True,
    *,
    until: float = math.inf,
) -> list[object]:
    """Return the answers of workers to requests, in order.

    An answer is as the request defines it, or :class:`.Lost` for a launch that crashes or hangs.

    Args:
        goes_on: whether to go on after such a launch; if not, the remaining answers are
            :data:`NOT_ASKED`.
        until: time on the monotonic clock after which no further test begins.
    """
    answers: dict[int, Any] = {}
    with closing(pool.map(enumerate(requests))) as found:
        for at, answer in found:
            answers[at] = answer
            late = time.monotonic() >= until
            if late or (isinstance(answer, Lost) and not goes_on):
                break
    return [answers.get(at, NOT_ASKED) for at in range(len(requests))]
