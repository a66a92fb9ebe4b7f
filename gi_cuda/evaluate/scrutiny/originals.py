"""Holding programs against the original source, where something is in the place of an input."""

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
from gi_cuda.spec.other_sizes import OtherCase


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits for launches that do not end.

    Attributes:
        limit: seconds after which one with something else counts as hung.
        goes_on: whether a candidate is still asked about other inputs then.
        seconds: after which nothing more is begun in a thorough look, once for what the reference
            answers; for each candidate, twice as many.
    """

    limit: float = 10.0
    goes_on: bool = True
    seconds: float = 8.0


THOROUGH: Final = Patience(seconds=30.0)
"""For somebody else's work, of which nothing may stay untried."""

NOT_ASKED: Final = object()
"""In the place of an answer, where there was no time to ask."""

FEW: Final = 0.1
"""A part of outputs: where no more ever becomes something else, they tell too little."""

LAUNCHES: Final = 12
"""Times that a candidate is launched while its variables keep what launches leave in them."""


@dataclass(frozen=True, slots=True)
class Told:
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


class Only(StrEnum):
    """Parts of a look."""

    ALL = "all"
    STATE = "launches one after the other"


Part: TypeAlias = Only | Substituted
"""What is looked at again."""

Fits: TypeAlias = Mapping[Substituted, bool | None]
"""Substitutes that were tried on the reference, each with whether its answers are fit to compare
with: acceptable where it rounds otherwise, at another pace and, where one can be chosen, in another
order of threads; None if there was no time to try it. With another size threads may write where
others read."""


@dataclass(frozen=True)
class Original:
    """The source without edits in some configuration.

    Attributes:
        pool: as :class:`.Dependence` has it.
        program: what it is compiled to; None: it does not compile.
        fit: as :class:`.Dependence` finds it out.
        patience: as :class:`.Dependence` has it.
        alike: one that reads the same inputs, if there is one.
    """

    pool: Pool[int]
    program: Program | None
    fit: Callable[[bool], Fits]
    patience: Patience
    alike: Original | None = None
    _lost: dict[Substituted, bool] = field(default_factory=dict, repr=False, compare=False)

    def told(self, program: Program, thorough: bool, part: Part) -> list[Told]:
        """Return the faults in a program's answers with substitutes for inputs.

        Args:
            thorough: as :meth:`.Dependence.objections` has it.
            part: what is looked at.
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
        """Return the inputs that a program's answers do not depend on, although the original's
        do. Inputs with so large an effect that other answers are refused are not asked about."""
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
        """Return the faults in a program's answers with substitutes for inputs.

        Args:
            pairs: these.
            until: on the monotonic clock, when nothing more is begun.
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
        """Tell whether a program is known to answer as the original does with a substitute."""
        if self.program is None:
            return False
        asked = agreeing(program, self.program, [pair], self.patience)
        return answers_of(self.pool, asked) == [""]

    def _is_lost(self, pair: Substituted) -> bool:
        """Tell whether the original itself does not survive a substitute, which was tried on the
        source in another configuration."""
        if pair not in self._lost:
            assert self.program is not None, "something was held against it"
            asked = agreeing(self.program, self.program, [pair], self.patience)
            (answer,) = answers_of(self.pool, asked)
            self._lost[pair] = isinstance(answer, Lost)
        return self._lost[pair]

    def _keeping(self, program: Program, without: Collection[Substituted | None]) -> list[Told]:
        """Return the faults that show only in repeated launches.

        Args:
            without: what it is wrong with already.
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
        """The finding that outputs hardly change with any other input, if they do not."""
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
        """The inputs on which its answers depend, and what shows that first."""
        return {name: other for name, (other, _) in self._effects.items()}

    @cached_property
    def _effects(self) -> dict[str, tuple[Substitute, Effect]]:
        """The same with the effects."""
        if self.alike is not None:
            return self.alike._effects
        if self.program is None:
            return {}
        found: dict[str, tuple[Substitute, Effect]] = {}
        left = [(name, one) for name, one in self.fit(False) if isinstance(one, Substitute)]
        while pairs := dict(reversed(left)).items():
            # One of each input at a time: of most the first one shows it.
            asked = _depending(self.program, pairs, self.patience)
            answers = answers_of(self.pool, asked)
            for (name, other), effect in zip(pairs, answers, strict=True):
                if effect in (Effect.SMALL, Effect.TOLD):
                    found[name] = other, effect
            left = [pair for pair in left if pair not in pairs and pair[0] not in found]
        return found


def ordinary(one: Other) -> bool:
    """Tell whether answers are compared as they are for the inputs of the case itself."""
    if isinstance(one, OtherCase):
        return True
    return not (one.special or (isinstance(one, Substitute) and one.to_overflow))


def _why(answer: object) -> tuple[str, ...]:
    """Return the fault that an answer to :class:`AgreesWith` tells; with its code, if the launch
    does not end. A crash is a fault."""
    if isinstance(answer, Lost):
        hung = answer.survival is Survival.HUNG
        return (answer.message, "hangs") if hung else (answer.message,)
    return (answer,) if isinstance(answer, str) and answer else ()


def _told(pair: Substituted, wrong: str, code: str = "") -> Told:
    """Return the finding that a program is wrong with a substitute for an input; or that nobody
    waited for its answer, if a code says so."""
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
    """Return the finding that so many things were not tried; none if all were."""
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
    return [AgreesWith(program, reference, *pair, patience.limit) for pair in pairs]


def answers_of(
    pool: Pool[int],
    requests: Sequence[DependsOn | AgreesWith | KeepsNothing | TellVarying],
    goes_on: bool = True,
    *,
    until: float = math.inf,
) -> list[object]:
    """Return the answers of workers to requests, in order: those that the requests define, or
    :class:`.Lost` for a launch that does not end.

    Args:
        goes_on: whether others are asked after one that does not end; if not, theirs are
            :data:`NOT_ASKED`.
        until: on the monotonic clock, when nothing more is begun.
    """
    answers: dict[int, Any] = {}
    with closing(pool.map(enumerate(requests))) as found:
        for at, answer in found:
            answers[at] = answer
            late = time.monotonic() >= until
            if late or (isinstance(answer, Lost) and not goes_on):
                break
    return [answers.get(at, NOT_ASKED) for at in range(len(requests))]
