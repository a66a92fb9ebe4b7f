"""What a search would breed of most is watched on a processor first.

A GPU does not tell that threads race, or that one writes beside an array in shared memory: the
answers are right, mostly, and the variant is faster. A search that breeds of such a one soon has it
in all of its best. So what is faster than all before it is held back until the host back end has
watched it, on the train cases that it has: a second of one processor, where the GPU's own tools
take several, and the GPU. So is what is right by one edit, of which much else will be made, as far
as there is time. All else comes out at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final, TypeAlias

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import JobThreads
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.elsewhere import Elsewhere
from gi_cuda.evaluate.passes import REFERENCE, Record, Trial
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.search.breeding import FitnessEvaluator
from gi_cuda.subject import Subject

FEWEST: Final = 8
"""Processors; with fewer, compilers need all of them."""

SHARE: Final = 16
"""Of so many one watches."""

WAITING: Final = 2
"""So many that are not the best may wait for each of these; others are believed at once."""

LONGEST: Final = 3.0
"""Seconds in which the reference has to be watched; where it takes longer, nothing is."""

LIMIT: Final = 5.0
"""Seconds that one may be watched; what takes longer than that is not what the reference is."""

OPENING: Final = 15.0
"""Seconds after which nobody is held back any more where it is not known yet whether the reference
can be watched."""

PATIENCE: Final = 4.0
"""Seconds for which those that are still watched are waited for once the search is to end."""

_Held: TypeAlias = tuple[Trial, Evaluation]
"""An individual that is held back."""


@dataclass(slots=True)
class SecondOpinion:
    """An evaluator whose word is not believed at once.

    Attributes:
        inner: evaluates.
        subject: whose variants it evaluates.
        elsewhere: watches.
    """

    inner: FitnessEvaluator[Trial]
    subject: Subject
    elsewhere: Elsewhere
    _best: float = math.inf
    _serves: bool | None = None
    _held: dict[int, _Held] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    def prepare(self, batch: Mapping[int, Genotype]) -> Mapping[int, Trial]:
        """As the evaluator does."""
        return self.inner.prepare(batch)

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool] = lambda: False,
        more: Callable[[], Mapping[int, Trial]] = dict,
    ) -> Generator[Record, None, None]:
        """As the evaluator does; what would be bred of most comes a little later."""
        trials = dict(batch)

        def added() -> Mapping[int, Trial]:
            new = more()
            trials.update(new)
            return new

        with (
            JobThreads(self._seen, _together()) as threads,
            closing(self.inner.evaluate(batch, stop, added)) as records,
        ):
            opened = time.monotonic() + OPENING
            if self._serves is None:
                threads.submit(REFERENCE)
            for ident, evaluation in records:
                trial = trials.pop(ident)
                if self._is_doubtful(trial, evaluation):
                    self._held[ident] = trial, evaluation
                    threads.submit(ident)
                else:
                    yield ident, evaluation
                yield from self._released(threads.done(), opened)
            until = math.inf
            while self._held and time.monotonic() < until:
                yield from self._released(threads.done(limit=0.1), opened)
                if stop():
                    until = min(until, time.monotonic() + PATIENCE)
        self._held.clear()  # who goes on with the search evaluates these again

    def _released(self, done: Iterable[tuple[int, str]], opened: float) -> Iterator[Record]:
        """What becomes of those that were watched; all are believed where it takes too long to find
        out whether that can be done.

        Args:
            opened: until when that has to be known.
        """
        for ident, seen in done:
            if ident in self._held:
                yield self._told(ident, seen)
        if self._serves is None and time.monotonic() > opened:
            self._serves = False
            for ident in list(self._held):
                yield self._told(ident, "")

    def _is_doubtful(self, trial: Trial, evaluation: Evaluation) -> bool:
        """Whether it is to be watched: the best so far, and what is right by one edit, as long as
        not too many are."""
        if self._serves is False or not evaluation.right or trial.genotype is None:
            return False
        rank = evaluation.rank if evaluation.selectable else None
        if rank is not None and rank < self._to_beat:
            return True
        return len(trial.edits) == 1 and len(self._held) < WAITING * _together()

    @property
    def _to_beat(self) -> float:
        """The rank of the best one, and be it one that is held back."""
        ranks = (evaluation.rank for _, evaluation in self._held.values())
        return min([self._best, *(rank for rank in ranks if rank is not None)])

    def _seen(self, ident: int) -> str:
        """What a processor sees of one; "" where it is nothing, or nobody can look."""
        with self._turn:  # the others wait until that is known
            if self._serves is None:
                quick = self._is_quick()
                self._serves = quick and self._serves is None
        held = self._held.get(ident)
        if not self._serves or held is None or held[0].genotype is None:
            return ""
        return self.elsewhere.look(candidate(self.subject, held[0].genotype)).seen

    def _is_quick(self) -> bool:
        """Whether the reference can be watched, and in no time."""
        self.elsewhere.watch_reference()
        begun = time.monotonic()
        looked = self.elsewhere.look(unmodified(self.subject))
        return not looked.why and time.monotonic() - begun < LONGEST

    def _told(self, ident: int, seen: str) -> Record:
        """What becomes of one that was watched."""
        _, evaluation = self._held.pop(ident)
        if not seen:
            if evaluation.rank is not None and evaluation.selectable:
                self._best = min(self._best, evaluation.rank)
            return ident, evaluation
        wrong = replace(evaluation, penalty=1.0, verdict=None, ratio=None, low=None, high=None)
        return ident, replace(wrong, samples=(), message=f"on a processor it is wrong: {seen}")


def _together() -> int:
    """So many are watched at a time."""
    return max(1, cores() // SHARE)
