"""Evaluator that checks the most promising variants on the CPU before a search breeds from them.

A GPU does not report data races or writes beyond an array in shared memory. No case notices that a
guard is gone which only other inputs need. The outputs of a variant with such a bug are mostly
right, and it is faster, so a search soon has the bug in all of its best variants. Therefore each
variant that is faster than all accepted ones is held back until two checks pass. The host back end
runs it on the train cases and looks for races, and tests it with changed inputs. Both take a second
or two of a core; the GPU's own tools take several seconds, and the GPU. If the CPU is too slow, as
for the input of an application, the GPU tests changed inputs instead, if it is quick enough. Until
that is known, all variants are accepted.

The fastest variant is checked first. Once it passes, slower ones that were held back are accepted
too. As far as there is time, right variants with a single edit are also checked, because many
others will contain that edit. All other variants are accepted at once. A variant with the same
machine code as a checked one shares its result, as is the case for a seventh to a half of the right
variants with a single edit.
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
from gi_cuda.evaluate.scrutiny.inputs.dependence import Dependence
from gi_cuda.evaluate.scrutiny.ordering.races import Looked
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.search.breeding import FitnessEvaluator
from gi_cuda.subject import Subject

FEWEST: Final = 8
"""Cores that the checks need, at least; with fewer, compilers need all of them."""

SHARE: Final = 8
"""Number of cores for each variant that is checked at a time. The check occupies two of them: one
looks for races, the other tests changed inputs."""

WAITING: Final = 2
"""Number of single-edit variants that may wait, for each one that can be checked at a time; further
ones are accepted at once."""

MOST: Final = 16
"""Number of variants that may wait. Beyond that, the slowest are accepted, since a waiting search
breeds nothing."""

LONGEST: Final = 3.0
"""Seconds within which a check of the reference must end; a slower check is not used."""

_ASKED: Final = REFERENCE - 1
"""Number of the job that finds out whether the GPU can test changed inputs quickly."""

LIMIT: Final = 5.0
"""Time limit for checking a variant, in seconds; the reference takes less."""

OPENING: Final = 6.0
"""Seconds within which the usable checks must be known; after that all variants are accepted."""

IDLE: Final = 2.0
"""Seconds to wait for checks when nothing is left to evaluate. Then all variants are accepted,
since the search breeds nothing meanwhile."""

PATIENCE: Final = 2.0
"""Seconds to wait for checks once the search is to end, and then again for the threads to end."""

_Held: TypeAlias = tuple[Trial, Evaluation]
"""An individual that is held back, and its evaluation."""

_Look: TypeAlias = Callable[[Candidate], Looked]


@dataclass(slots=True)
class SecondOpinion:
    """An evaluator that holds back promising individuals until further checks pass.

    Attributes:
        inner: evaluates the individuals.
        subject: the subject whose variants they are.
        elsewhere: checks on the CPU.
        asking: tests changed inputs on the GPU; None to skip this.
    """

    inner: FitnessEvaluator[Trial]
    subject: Subject
    elsewhere: ProcessorWatch
    asking: Dependence | None = None
    _best: float = math.inf
    _looks: tuple[_Look, ...] | None = None
    _held: dict[int, _Held] = field(default_factory=dict)
    _codes: dict[bytes, str] = field(default_factory=dict)
    _begun: dict[int, bool] = field(default_factory=dict)  # whether it was faster than all accepted
    _asks: bool = False  # whether the GPU tests inputs instead, or is being tried for that
    _known: bool = False  # whether the trial of the GPU has ended

    def prepare(self, batch: Mapping[int, Genotype]) -> Mapping[int, Trial]:
        """Prepare individuals with the inner evaluator."""
        return self.inner.prepare(batch)

    def evaluate(
        self,
        batch: Mapping[int, Trial],
        stop: Callable[[], bool] = lambda: False,
        more: Callable[[], Mapping[int, Trial]] = dict,
    ) -> Generator[Record, None, None]:
        """Evaluate individuals with the inner evaluator; records of promising ones come after
        the checks.
        """
        trials = dict(batch)

        def added() -> Mapping[int, Trial]:
            new = more()
            trials.update(new)
            return new

        with (
            # One thread more: finding out which checks are quick enough may take minutes.
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
        self._held.clear()  # a resumed search evaluates these again
        self._begun.clear()

    def _released(
        self, threads: JobThreads[int, str], opened: float, limit: float = 0.0
    ) -> Iterator[Record]:
        """Yield the records of individuals whose checks have ended, and start further checks.

        If it takes too long to find out which checks are usable, all individuals are accepted.

        Args:
            opened: time by which the usable checks have to be known.
            limit: seconds to wait for the first result.
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
        if self._looks == ():  # also while the GPU is being tried
            yield from self._let_go(list(self._held))
        self._begin(threads)

    def _begin(self, threads: JobThreads[int, str]) -> None:
        """Start checks: of the fastest individual first, then of the one that has waited longest.

        No check starts before the usable checks are known, since finding them out may take minutes.
        """
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
        """Return the result of the checks for the same machine code; None if it was not checked."""
        key = evaluation.code_key
        return None if key is None or not evaluation.right else self._codes.get(key)

    def _is_doubtful(self, trial: Trial, evaluation: Evaluation) -> bool:
        """Tell whether an individual is to be checked.

        It is if it is better than all accepted ones, or if it is right with a single edit and not
        too many of those are waiting.
        """
        if self._looks == () or not evaluation.right or trial.genotype is None:
            return False
        return self._is_ahead(evaluation) or (
            not self._asks and len(trial.edits) == 1 and len(self._held) < WAITING * _of_others()
        )

    def _is_ahead(self, evaluation: Evaluation) -> bool:
        """Tell whether an individual is better than the best accepted one."""
        return _rank(evaluation) < self._best

    def _seen(self, ident: int) -> str:
        """Run a job of the checking threads, and return what is wrong with an individual.

        "" if nothing is, if nobody can check it, or if the job only finds out which checks are
        usable.
        """
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
        """Test changed inputs on the GPU; report if there is no room for one more process."""
        assert self.asking is not None, "there is somebody to ask"
        try:
            return Looked(self.asking.objection_meanwhile(one))
        except (UserError, MachineError) as error:
            return Looked(why=error.what)

    def _quick(self) -> tuple[_Look, ...]:
        """Return the checks that are quick enough on the reference."""
        looks: list[_Look] = [self.elsewhere.look, self.elsewhere.ask]
        found = at_once([partial(_is_quick, look, unmodified(self.subject)) for look in looks])
        return tuple(look for look, quick in zip(looks, found, strict=True) if quick)

    def _told(self, ident: int, seen: str) -> Iterator[Record]:
        """Yield the records that follow from a finished check.

        These are of the individual, of those with the same machine code, and, if it passed, of
        those that are not better.
        """
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
        """Tell whether an individual was held back only for its speed, and a better one is
        accepted.
        """
        trial, evaluation = self._held[ident]
        return len(trial.edits) != 1 and not self._is_ahead(evaluation)

    def _let_go(self, idents: Iterable[int]) -> Iterator[Record]:
        """Yield the records of individuals that are accepted."""
        for ident in idents:
            _, evaluation = self._held.pop(ident)
            yield ident, evaluation


def _objected(evaluation: Evaluation, seen: str) -> Evaluation:
    """Return the evaluation of an individual that failed a check, as a wrong one."""
    wrong = replace(evaluation, penalty=1.0, verdict=None, ratio=None, low=None, high=None)
    return replace(wrong, samples=(), message=f"looked at more closely it is wrong: {seen}")


def _rank(evaluation: Evaluation) -> float:
    """Return the rank of an individual; infinity if it is not selectable."""
    return evaluation.rank if evaluation.selectable and evaluation.rank is not None else math.inf


def _is_quick(look: _Look, whole: Candidate) -> bool:
    """Tell whether a check finds nothing wrong with the reference within :data:`LONGEST`
    seconds.
    """
    look(whole)  # does the work that is needed once
    begun = time.monotonic()
    return look(whole) == Looked() and time.monotonic() - begun < LONGEST


def _together() -> int:
    """Return the number of individuals that are checked at a time."""
    return max(1, cores() // SHARE)


def _of_others() -> int:
    """Return the number of checks at a time for individuals that are not better than all accepted
    ones.

    There are always some, and their checks pay only while compilers have enough to do.
    """
    return max(1, _together() // 2)
