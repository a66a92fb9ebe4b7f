"""What a search would breed of most is looked at on a processor first.

A GPU does not tell that threads race, or that one writes beside an array in shared memory, and no
case that a guard is gone which only other inputs need: the answers are right, mostly, and the
variant is faster. A search that breeds of such a one soon has it in all of its best. So what is
faster than all that is believed is held back until the host back end has watched it, on the train
cases that it has, and has asked what it does with something else in the place of each input: a
second of a processor or two, where the GPU's own tools take several, and the GPU. Where a processor
takes too long, as with what an application gave a GPU to do, the GPU is asked that, if it answers
soon; until that is known all is believed.

The fastest one is looked at first; once it is believed, those that are slower come out as well. So
is, on a processor, what is right by one edit, of which much else will be made, as far as there is
time. All else comes out at once, and what has the machine code of what was looked at, as a seventh
to a half of what is right by one edit has.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import JobThreads, at_once
from gi_cuda.errors import MachineError, UserError
from gi_cuda.evaluate.batches.passes import REFERENCE, Record, Trial
from gi_cuda.evaluate.candidates import Candidate, candidate, unmodified
from gi_cuda.evaluate.scrutiny.dependence import Dependence
from gi_cuda.evaluate.scrutiny.elsewhere import Elsewhere
from gi_cuda.evaluate.scrutiny.races import Looked
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.search.breeding import FitnessEvaluator
from gi_cuda.subject import Subject

FEWEST: Final = 8
"""Processors; with fewer, compilers need all of them."""

SHARE: Final = 8
"""Of so many two look at one: one watches, and one asks."""

WAITING: Final = 2
"""So many that are not the best may wait for each that can be looked at; others are believed at
once."""

MOST: Final = 16
"""So many may wait in all; of more the slowest are believed, as a search that waits breeds nothing.
"""

LONGEST: Final = 3.0
"""Seconds in which the reference has to be looked at; what takes longer is not done."""

_ASKED: Final = REFERENCE - 1
"""Stands for finding out whether the GPU can be asked."""

LIMIT: Final = 5.0
"""Seconds that one may be watched; what takes longer than that is not what the reference is."""

OPENING: Final = 6.0
"""Seconds after which nobody is held back any more where it is not known yet how the reference can
be looked at."""

IDLE: Final = 2.0
"""Seconds for which those that are looked at are waited for where nothing is left to be evaluated;
all are believed then, as the search breeds nothing meanwhile."""

PATIENCE: Final = 2.0
"""Seconds for which those that are still looked at are waited for once the search is to end, and
then again for who looks."""

_Held: TypeAlias = tuple[Trial, Evaluation]
"""An individual that is held back."""

_Look: TypeAlias = Callable[[Candidate], Looked]


@dataclass(slots=True)
class SecondOpinion:
    """An evaluator whose word is not believed at once.

    Attributes:
        inner: evaluates.
        subject: whose variants it evaluates.
        elsewhere: looks.
        asking: asks on the GPU itself; None where nobody does.
    """

    inner: FitnessEvaluator[Trial]
    subject: Subject
    elsewhere: Elsewhere
    asking: Dependence | None = None
    _best: float = math.inf
    _looks: tuple[_Look, ...] | None = None
    _held: dict[int, _Held] = field(default_factory=dict)
    _codes: dict[bytes, str] = field(default_factory=dict)
    _begun: dict[int, bool] = field(default_factory=dict)  # whether it was ahead of all
    _asks: bool = False  # whether the GPU is asked instead, or it is being found out if it can be
    _known: bool = False  # whether that is known

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
            # One more, which may take minutes to find out how the reference can be looked at.
            JobThreads(self._seen, _together() + 1, PATIENCE) as threads,
            closing(self.inner.evaluate(batch, stop, added)) as records,
        ):
            opened = time.monotonic() + OPENING
            if self._looks is None:
                threads.submit(REFERENCE)
            for ident, evaluation in records:
                trial, seen = trials.pop(ident), self._seen_of(evaluation)
                if seen is None and self._is_doubtful(trial, evaluation):
                    self._held[ident] = trial, evaluation
                else:
                    yield ident, _objected(evaluation, seen) if seen else evaluation
                yield from self._released(threads, opened)
            until = time.monotonic() + IDLE
            while self._held and time.monotonic() < until:
                yield from self._released(threads, opened, limit=0.1)
                if stop():
                    until = min(until, time.monotonic() + PATIENCE)
            if not stop():
                yield from self._let_go(list(self._held))
        self._asks = self._asks and self._known
        self._held.clear()  # who goes on with the search evaluates these again
        self._begun.clear()

    def _released(
        self, threads: JobThreads[int, str], opened: float, limit: float = 0.0
    ) -> Iterator[Record]:
        """What becomes of those that were looked at; others are next. All are believed where it
        takes too long to find out how they can be looked at.

        Args:
            opened: until when that has to be known.
            limit: seconds to wait for the first one.
        """
        self._begin(threads)
        for ident, seen in threads.done(limit):
            self._begun.pop(ident, None)
            if ident in self._held:
                yield from self._told(ident, seen)
        if len(self._held) > MOST:
            waiting = [ident for ident in self._held if ident not in self._begun]
            waiting.sort(key=lambda one: _rank(self._held[one][1]))
            yield from self._let_go(waiting[MOST:])
        if self._looks is None and time.monotonic() > opened:
            self._looks = ()
        if self._looks == () and self.asking is not None and not self._asks:
            self._asks = True
            threads.submit(_ASKED)
        if self._looks == ():  # also until it is known whether the GPU can be asked
            yield from self._let_go(list(self._held))
        self._begin(threads)

    def _begin(self, threads: JobThreads[int, str]) -> None:
        """Have those looked at that are next: the fastest, then what waits longest. None is before
        it is known how: who finds that out may take minutes."""
        while self._looks is not None and len(self._begun) < _together():
            left = [ident for ident in self._held if ident not in self._begun]
            ahead = [ident for ident in left if self._is_ahead(self._held[ident][1])]
            others = sum(not was_ahead for was_ahead in self._begun.values())
            if not ahead and (not left or others >= _of_others()):
                return
            ident = min(ahead, key=lambda one: _rank(self._held[one][1]), default=left[0])
            self._begun[ident] = bool(ahead)
            threads.submit(ident)

    def _seen_of(self, evaluation: Evaluation) -> str | None:
        """What was seen of one with the same machine code; None where none was looked at."""
        key = evaluation.code_key
        return None if key is None or not evaluation.right else self._codes.get(key)

    def _is_doubtful(self, trial: Trial, evaluation: Evaluation) -> bool:
        """Whether it is to be looked at: what is better than the best that is believed, and what is
        right by one edit, as long as not too many are."""
        if self._looks == () or not evaluation.right or trial.genotype is None:
            return False
        return self._is_ahead(evaluation) or (
            not self._asks and len(trial.edits) == 1 and len(self._held) < WAITING * _of_others()
        )

    def _is_ahead(self, evaluation: Evaluation) -> bool:
        """Whether it is better than the best that is believed."""
        return _rank(evaluation) < self._best

    def _seen(self, ident: int) -> str:
        """What is seen of one; "" where it is nothing, or nobody can look."""
        if ident == REFERENCE:
            quick = self._quick()
            self._looks = quick if self._looks is None else self._looks
            return ""
        if ident == _ASKED:
            if _is_quick(self._ask, unmodified(self.subject)):
                self._looks = (self._ask,)
            self._known = True
            return ""
        held = self._held.get(ident)
        if not self._looks or held is None or held[0].genotype is None:
            return ""
        one = candidate(self.subject, held[0].genotype)
        found = at_once([partial(look, one) for look in self._looks])
        return next((looked.seen for looked in found if looked.seen), "")

    def _ask(self, one: Candidate) -> Looked:
        """Ask on the GPU; where there is no room for one process more, that is said."""
        assert self.asking is not None, "there is somebody to ask"
        try:
            return Looked(self.asking.objection_meanwhile(one))
        except (UserError, MachineError) as error:
            return Looked(why=error.what)

    def _quick(self) -> tuple[_Look, ...]:
        """How the reference can be looked at in no time."""
        looks: list[_Look] = [self.elsewhere.look, self.elsewhere.ask]
        found = at_once([partial(_is_quick, look, unmodified(self.subject)) for look in looks])
        return tuple(look for look, quick in zip(looks, found, strict=True) if quick)

    def _told(self, ident: int, seen: str) -> Iterator[Record]:
        """What becomes of one that was looked at, of those with its machine code, and of those that
        are not ahead of it then."""
        _, evaluation = self._held[ident]
        waiting = [other for other in self._held if other not in self._begun and other != ident]
        alike = [ident]
        if (key := evaluation.code_key) is not None:
            self._codes[key] = seen
            alike += (other for other in waiting if self._held[other][1].code_key == key)
        if not seen:
            self._best = min(self._best, _rank(evaluation))
            behind = [other for other in waiting if self._is_behind(other)]
            yield from self._let_go(dict.fromkeys([*alike, *behind]))
            return
        for one in alike:
            _, evaluation = self._held.pop(one)
            yield one, _objected(evaluation, seen)

    def _is_behind(self, ident: int) -> bool:
        """Whether one that is held back was so for its speed alone, and there is a better one."""
        trial, evaluation = self._held[ident]
        return len(trial.edits) != 1 and not self._is_ahead(evaluation)

    def _let_go(self, idents: Iterable[int]) -> Iterator[Record]:
        """The records of some that are believed."""
        for ident in idents:
            _, evaluation = self._held.pop(ident)
            yield ident, evaluation


def _objected(evaluation: Evaluation, seen: str) -> Evaluation:
    """A record that is not believed, for what was seen."""
    wrong = replace(evaluation, penalty=1.0, verdict=None, ratio=None, low=None, high=None)
    return replace(wrong, samples=(), message=f"looked at more closely it is wrong: {seen}")


def _rank(evaluation: Evaluation) -> float:
    """What individuals are compared by; of what is not selectable, worse than all others."""
    return evaluation.rank if evaluation.selectable and evaluation.rank is not None else math.inf


def _is_quick(look: _Look, whole: Candidate) -> bool:
    """Tell whether nothing is seen of the reference, in so many seconds."""
    look(whole)  # what is done once for all
    begun = time.monotonic()
    return look(whole) == Looked() and time.monotonic() - begun < LONGEST


def _together() -> int:
    """So many are looked at at a time."""
    return max(1, cores() // SHARE)


def _of_others() -> int:
    """So many of them that are not ahead of all that are believed: there are always some, and while
    compilers have enough to do they pay for each."""
    return max(1, _together() // 2)
