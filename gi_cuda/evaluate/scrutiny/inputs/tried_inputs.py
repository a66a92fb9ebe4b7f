"""Trials of substituted inputs on the reference, to find out which are usable for comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final

from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.substitutes import Other, Substitute, Substituted
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.scrutiny.inputs.originals import (
    NOT_ASKED,
    Fits,
    Patience,
    agreeing,
    answers_of,
)
from gi_cuda.evaluate.scrutiny.inputs.other_inputs import (
    derived_sizes,
    in_place,
    inputs,
    joint_inputs,
    near_sizes,
    telling,
)
from gi_cuda.spec import Case, Target
from gi_cuda.spec.case_data.other_sizes import OtherCase, other_seeds

QUICK_SIZES: Final = 3
"""Number of cases of other sizes in a quick check."""

ALWAYS: Final = 2
"""Number of substitutes for each input that are tried without regard to time."""


def all_unsettled(some: Sequence[Substituted]) -> frozenset[str]:
    """Return all inputs as unsettled, if nobody can find out which are."""
    return frozenset(name for name, _ in some)


def nobody_knows(some: Sequence[Substituted]) -> frozenset[str]:
    """Return no input as unsettled."""
    return frozenset()


@dataclass(frozen=True)
class TriedInputs:
    """Trials of substituted inputs on the reference, each done once.

    Attributes:
        source: text of the reference.
        known: the back end's cases.
        names: names of the cases with which substitutes are tried.
        elsewhere, each, patience: see :class:`.Dependence`.
        workers: returns the workers.
        reference: returns the program of the reference; None if it does not compile.
        otherwise: returns the program with different rounding and speed; None if there is none.
    """

    target: Target
    source: str
    known: Sequence[Case]
    names: Sequence[str]
    elsewhere: Callable[[Sequence[Substituted]], frozenset[str]]
    each: int | None
    patience: Patience
    workers: Callable[[], Pool[int]]
    reference: Callable[[], Program | None]
    otherwise: Callable[[], Program | None]
    _nears: dict[tuple[int, ...], Fits] = field(default_factory=dict, repr=False, compare=False)

    def near(self, numbers: tuple[int, ...]) -> Fits:
        """Try cases whose sizes are near some numbers."""
        if numbers not in self._nears:
            sizes = near_sizes(self.target, self._known_names, self.source, numbers)
            asked = {size.words: [size] for size in sizes}
            self._nears[numbers] = self._tried(asked, time.monotonic() + self.patience.seconds)
        return self._nears[numbers]

    @property
    def note(self) -> str:
        """The other sizes that a thorough check tries, and those that it leaves out; "" if none."""
        if not self._sizes:
            return ""
        fit = {**self._fit_quickly, **self._fit_thoroughly}
        known = [(one.words, fit.get((one.words, one))) for one in self._sizes]
        tried = [words for words, yes in known if yes]
        failed = [words for words, yes in known if yes is False]
        late = len(known) - len(tried) - len(failed)
        said = f"other sizes that were tried: {'; '.join(tried) or 'none'}."
        if failed:
            why = "with which the reference fails or takes long"
            said += f" {len(failed)} left out, {why}: {'; '.join(failed)}."
        return said + (f" {late} left out for want of time." if late else "")

    def fit(self, thorough: bool) -> Fits:
        """Return the substitutes of a quick or thorough check, with their usability."""
        return self._fit_thoroughly if thorough else self._fit_quickly

    @cached_property
    def _fit_quickly(self) -> Fits:
        quick = {name: [one for one in some if one.quick] for name, some in self._inputs.items()}
        asked = {name: telling(some)[: self.each] for name, some in quick.items()}
        cases = {one.words: [one] for one in self._quick_cases}
        return self._tried({**asked, **cases}, time.monotonic() + self.patience.seconds, ALWAYS)

    @cached_property
    def _fit_thoroughly(self) -> Fits:
        sizes = {one.words: [one] for one in self._sizes if one not in self._quick_cases}
        rest = {name: [one for one in some if not one.quick] for name, some in self._inputs.items()}
        joint = joint_inputs(self.target, self._sizes)
        others: list[Other] = [
            *joint,
            *in_place(self.target, self.source),
        ]
        several = {str(one): [one] for one in others}
        asked: dict[str, Sequence[Other]] = {**sizes, **rest, **several}
        return self._tried(asked, time.monotonic() + self.patience.seconds)

    def _tried(self, asked: Mapping[str, Sequence[Other]], until: float, always: int = 0) -> Fits:
        """Try substitutes on the reference.

        Args:
            until: time on the monotonic clock after which no further test begins.
            always: number of substitutes for each input that are tried even after that.
        """
        program = self.reference()
        if program is None:
            return {}
        jobs: list[Callable[[], Any]] = [
            partial(self._compared, program, asked, until, always),
            partial(self._unsettled, asked),
        ]
        tried, unsettled = at_once(jobs)
        order = [(name, one) for name in asked for one in self._inputs.get(name, asked[name])]
        return {pair: tried[pair] and pair[0] not in unsettled for pair in order if pair in tried}

    def _compared(
        self,
        program: Program,
        asked: Mapping[str, Sequence[Other]],
        until: float,
        always: int,
    ) -> dict[Substituted, bool | None]:
        """Return for each substitute whether the outputs stay the same with other rounding and
        speed.

        After a launch with a substitute crashed or hung, no further substitute of this input is
        tried.
        """
        otherwise = self.otherwise() or program
        found: dict[Substituted, bool | None] = {}
        left = dict(asked)
        for turn in range(max(map(len, left.values()), default=0)):
            pairs = [(name, some[turn]) for name, some in left.items() if turn < len(some)]
            last = math.inf if turn < always else until
            requests = agreeing(otherwise, program, pairs, self.patience)
            answers: Sequence[object] = [NOT_ASKED] * len(pairs)
            if time.monotonic() < last:
                answers = answers_of(self.workers(), requests, until=last)
            for pair, answer in zip(pairs, answers, strict=True):
                lost = isinstance(answer, Lost)
                if lost:
                    del left[pair[0]]
                if not (lost and isinstance(pair[1], Substitute)):
                    found[pair] = None if answer is NOT_ASKED else answer == ""
        return found

    def _unsettled(self, asked: Mapping[str, Sequence[Other]]) -> frozenset[str]:
        """Return the integer scalars and sizes for which the outputs depend on the order of
        threads.
        """
        return self.elsewhere(
            [
                (name, one)
                for name, some in asked.items()
                for one in some
                if name in self._whole or not isinstance(one, Substitute)
            ]
        )

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The integer scalars."""
        return frozenset(one.name for one in self.target.scalars if one.dtype.kind != "f")

    @cached_property
    def _inputs(self) -> Mapping[str, tuple[Substitute, ...]]:
        """The inputs that can be substituted, each with its substitutes."""
        return inputs(self.target, planned=bool(self._sizes))

    @cached_property
    def _sizes(self) -> list[OtherCase]:
        """Cases of other sizes."""
        return derived_sizes(self.target, self._known_names, self.source)

    @cached_property
    def _quick_cases(self) -> list[OtherCase]:
        """A few small and large cases of other sizes, and cases with other seeds.

        Empty if nobody can find out which of them depend on the order of threads.
        """
        if self.elsewhere is all_unsettled:
            return []
        some = self._sizes[1 :: max(1, len(self._sizes) // QUICK_SIZES)][:QUICK_SIZES]
        return [*some, *other_seeds(self.target, self.names)[: self.each]]

    @cached_property
    def _known_names(self) -> list[str]:
        return [one.name for one in self.known]
