"""Minimize a winner: drop the changes that do not pay, by GEVO's algorithm 1 with a test.

Algorithm 1 of Liou et al., "GEVO: GPU Code Optimization Using Evolutionary Computation" (2020) and
"Understanding the Power of Evolutionary Computation for GPU Code Optimization" (2022), drops an
edit if the program without it loses less than a threshold. Here the threshold is for all dropped
changes together. A statistical test must show that the loss is within the threshold, on the train
cases and on the confirm cases. Several changes are dropped at a time if that loses nothing, and
changed configuration values count as changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.analyze.minimizing.minimization import (
    DroppedChange,
    KeptChange,
    Minimization,
    kept_change,
)
from gi_cuda.evaluate.readings import Measurer, ReadingCache
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.gains import LEAST_GAIN, is_affordable, may_be_affordable, pays
from gi_cuda.results.speed_up import Reading, SpeedUp, contrast
from gi_cuda.results.verdict import LEAST_FLOOR

EXTENSIONS = 4
"""Largest number of further batches for variants whose loss is not yet certain."""

CONFIRMED = 2
"""Number of successive batches in which every remaining change must prove to be needed."""

FEWEST_BUILDS = 10
"""Fewest builds from which a loss is certain."""

SURE = 0.998
"""Confidence that a loss is within the allowance. It is high because many remainders are tried, and
reading stops as soon as it is reached."""

CULPRITS = 4
"""Largest number of changes that are brought back one by one if the remainder fails on the confirm
cases. After that, all changes are brought back that were dropped with the last of them or later."""


class WrongWinner(Exception):
    """An error: the winner itself is wrong on the train cases."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Largest total slowdown that dropping changes may cause.

    Attributes:
        threshold: limit for the median of the slowdown, as a fraction.
        floor: noise floor, as a fraction. The upper end of the slowdown's interval must be within
            the larger of both.
    """

    threshold: float = LEAST_GAIN
    floor: float = LEAST_FLOOR

    def covers(self, loss: SpeedUp) -> bool:
        """Tell whether a loss is certainly within the allowance."""
        return is_affordable(loss, self.threshold, self.floor)


@dataclass(frozen=True, slots=True)
class Measurers:
    """Measurers of genotypes on the different cases.

    Attributes:
        train: times and judges genotypes on the train cases.
        held_out, confirm: judge genotypes on the held-out cases and on the confirm cases, without
            using their times.
        train_beside, confirm_beside: make a measurer that times genotypes in turn with a given
            genotype instead of the reference.
    """

    train: Measurer
    held_out: Measurer
    confirm: Measurer
    train_beside: Callable[[Genotype], Measurer]
    confirm_beside: Callable[[Genotype], Measurer]


def minimize(
    winner: Changed, measurers: Measurers, allowance: Allowance | None = None
) -> Minimization:
    """Minimize a winner.

    First, changes are dropped that are wrong on cases that the search did not see; then changes
    that do not pay on the train cases. Changes are dropped in the order of their estimated gain,
    the smallest first, as long as the remainder is right on all cases and certainly loses no more
    than the allowance. Each remainder is timed beside the winner, so the allowance limits the total
    loss. Small gains stay once it is used up. The remainder must hold on the confirm cases, too;
    otherwise changes are brought back. The variants of a step are compiled as one batch.

    Args:
        winner: the changes of the winner.
        measurers: measurers on the different cases.
        allowance: largest total loss; None: the default.

    Raises:
        WrongWinner: the winner fails on the train cases.
    """
    search = _Search(
        winner,
        measurers,
        allowance or Allowance(),
        ReadingCache(measurers.train),
        ReadingCache(measurers.held_out),
        ReadingCache(measurers.confirm),
    )
    return search.run()


@dataclass(slots=True)
class _Search:
    """State of a minimization.

    Attributes:
        winner: all changes.
        measurers, allowance: see :func:`minimize`.
        train, held_out, confirm: readings so far.
        left: positions of the changes that are left.
        dropped: dropped changes, by position.
    """

    winner: Changed
    measurers: Measurers
    allowance: Allowance
    train: ReadingCache
    held_out: ReadingCache
    confirm: ReadingCache
    left: frozenset[int] = frozenset()
    dropped: dict[int, DroppedChange] = field(default_factory=dict)

    def run(self) -> Minimization:
        whole = self.winner.whole
        self.train.read([whole])
        if not self.train[whole].right:
            raise WrongWinner(self.train[whole].failure)
        self.left = self.winner.all
        self._drop_wrong()
        anchored = self.winner.having(self.left)
        duels = _Duels(
            anchored,
            ReadingCache(self.measurers.train_beside(anchored)),
            ReadingCache(self.measurers.confirm_beside(anchored)),
            self.allowance,
        )
        confirmed = 0
        while confirmed < CONFIRMED and self.left:
            self._read_round(anchored)
            free = self._free(anchored)
            dropped = bool(free) and self._drop_largest(free, duels)
            confirmed = 0 if dropped else confirmed + 1
        self._bring_back(duels)
        return self._result(duels)

    # -- cases that judge alone ----------------------------------------------------------------

    def _drop_wrong(self) -> None:
        """Drop changes until the remainder is right on the cases that the search did not see."""
        rest = self.winner.having(self.left)
        self._read_all([rest])
        while self.left and not self._is_right(rest):
            culprit = self._culprit()
            self.dropped[culprit] = DroppedChange(self._name(culprit), None, self._why_wrong(rest))
            self.left -= {culprit}
            rest = self.winner.having(self.left)
            self._read_all([rest])

    def _name(self, at: int) -> str:
        return str(self.winner.changes[at])

    def _culprit(self) -> int:
        """Return the position of a change to blame for wrong answers.

        It is a change without which the remainder is right; if there is none, the last change of
        the shortest prefix of the changes that is wrong.
        """
        having = self.winner.having
        order = sorted(self.left)
        without = {at: having(self.left - {at}) for at in order}
        self._read_all(without.values())
        for at in order:
            if self._is_right(without[at]):
                return at
        stretches = [having(order[: n + 1]) for n in range(len(order))]
        self._read_all(stretches)
        for at, stretch in zip(order, stretches, strict=True):
            if not self._is_right(stretch):
                return at
        return order[-1]

    def _read_all(self, genotypes: Iterable[Genotype]) -> None:
        """Read genotypes on all cases; a wrong genotype is not read on further cases."""
        wanted = list(genotypes)
        for cases in (self.held_out, self.train, self.confirm):
            cases.read_new(wanted)
            wanted = [one for one in wanted if cases[one].right]

    def _is_right(self, genotype: Genotype) -> bool:
        return not self._why_wrong(genotype)

    def _why_wrong(self, genotype: Genotype) -> str:
        """Return a known failure of a genotype; "" if none is known."""
        if genotype in self.train and not self.train[genotype].right:
            return self.train[genotype].failure
        if genotype in self.held_out and not self.held_out[genotype].right:
            return f"on held-out cases: {self.held_out[genotype].failure}"
        if genotype in self.confirm and not self.confirm[genotype].right:
            return f"on the cases that confirm it: {self.confirm[genotype].failure}"
        return ""

    # -- train cases -------------------------------------------------------------------------

    def _without(self, at: int) -> Genotype:
        return self.winner.having(self.left - {at})

    def _read_round(self, anchored: Genotype) -> None:
        """Read the remaining changes together, and without each of them."""
        variants = [self._without(at) for at in sorted(self.left)]
        self.train.read([anchored, self.winner.having(self.left), *variants])

    def _loss(self, genotype: Genotype, anchored: Genotype) -> SpeedUp:
        """Return the speed-up of the winner over a variant on the train cases."""
        return contrast([(1, self.train[anchored]), (-1, self.train[genotype])])

    def _free(self, anchored: Genotype) -> list[int]:
        """Return the changes that seem not to pay, the smallest gain first."""
        variants = {at: self._without(at) for at in sorted(self.left)}
        losses = {
            at: self._loss(one, anchored) for at, one in variants.items() if self.train[one].right
        }
        free = [at for at, loss in losses.items() if not pays(loss, self.allowance.threshold)]
        return sorted(free, key=lambda at: losses[at].value)

    def _drop_largest(self, free: list[int], duels: _Duels) -> bool:
        """Drop as many of the first free changes as possible; tell whether any was dropped."""
        sizes = sorted({len(free) >> shift for shift in range(len(free).bit_length())})
        rests = {size: self.winner.having(self.left - set(free[:size])) for size in sizes}
        if right := self._good(rests, duels):
            self._drop(free[: right[-1]], duels)
            return True
        # No prefix of them can be dropped, so try single ones.
        singles = {at: self._without(at) for at in free}
        if right := self._good(singles, duels):
            self._drop(right[:1], duels)
            return True
        return False

    def _good(self, rests: dict[int, Genotype], duels: _Duels) -> list[int]:
        """Return the keys of remainders that are right on all cases and certainly affordable."""
        affordable = duels.affordable(duels.train, rests.values())
        good = {key: one for key, one in rests.items() if one in affordable}
        self.held_out.read_new(good.values())
        return [key for key, one in good.items() if self.held_out[one].right]

    def _drop(self, changes: list[int], duels: _Duels) -> None:
        for at in changes:
            loss = self._loss(self._without(at), duels.winner)
            self.dropped[at] = DroppedChange(self._name(at), loss, "does not pay")
        self.left -= set(changes)

    # -- cases by which nothing was chosen -----------------------------------------------------

    def _bring_back(self, duels: _Duels) -> None:
        """Bring changes back until the remainder holds on the confirm cases."""
        gone = [at for at, one in self.dropped.items() if one.gain is not None]
        everything, going, last = self.left | set(gone), gone, 0
        for _ in range(CULPRITS):
            if self._stands(everything - set(going), duels):
                break
            last = self._longest(everything, going, duels)
            going = going[:last] + going[last + 1 :]
        else:
            going = going[:last]
        self.left = everything - set(going)
        for at in self.left & set(gone):
            del self.dropped[at]

    def _longest(self, everything: frozenset[int], going: Sequence[int], duels: _Duels) -> int:
        """Return the length of the longest prefix of `going` that can be dropped, by bisection.

        Dropping all of them is known to fail.
        """
        low, high = 0, len(going)
        while high - low > 1:
            middle = (low + high) // 2
            if self._stands(everything - set(going[:middle]), duels):
                low = middle
            else:
                high = middle
        return low

    def _stands(self, left: frozenset[int], duels: _Duels) -> bool:
        """Tell whether a remainder is right on all cases and affordable on train and confirm."""
        rest = self.winner.having(left)
        if rest == duels.winner:
            return True
        if not all(duels.affordable(one, [rest]) for one in (duels.confirm, duels.train)):
            return False
        self.held_out.read_new([rest])
        return self.held_out[rest].right

    # -- the result --------------------------------------------------------------------------

    def _result(self, duels: _Duels) -> Minimization:
        """Make the record: remaining changes with their gains, and dropped changes."""
        having, order = self.winner.having, sorted(self.left)
        genotype = having(order)
        without = {at: self._without(at) for at in order}
        vital = [at for at in order if not self._is_right(without[at])]
        pairs = [having(self.left - {at, other}) for at in vital for other in order if other != at]
        alone = [having([at]) for at in order]
        self.train.read_new([genotype, *without.values(), *alone, *pairs])
        self.held_out.read_new(pairs)
        caches = (self.train, self.held_out, self.confirm, duels.train, duels.confirm)
        kept = tuple(self._kept(at, genotype, vital) for at in order)
        return Minimization(
            str(genotype),
            self.train[genotype].speed_up,
            self.train[self.winner.whole].speed_up,
            kept,
            tuple(self.dropped.values()),
            sum(one.batches for one in caches),
            sum(one.variants for one in caches),
            duels.loss(duels.train, genotype),
            duels.loss(duels.confirm, genotype),
        )

    def _kept(self, at: int, genotype: Genotype, vital: list[int]) -> KeptChange:
        having = self.winner.having
        readings = (self.train[one] for one in (genotype, self._without(at), having([at])))
        others = sorted(self.left - {at}) if at in vital else []
        return replace(
            kept_change(self._name(at), *readings),
            without=self._why_wrong(self._without(at)),
            needed_by=tuple(
                self._name(other)
                for other in others
                if self._is_right(having(self.left - {at, other}))
            ),
        )


@dataclass(frozen=True, slots=True)
class _Duels:
    """Measurements of remainders beside the winner.

    Attributes:
        winner: the winner without wrong changes.
        train, confirm: readings beside the winner, on the train cases and on the confirm cases.
        allowance: largest total loss.
    """

    winner: Genotype
    train: ReadingCache
    confirm: ReadingCache
    allowance: Allowance

    def loss(self, cases: ReadingCache, rest: Genotype) -> SpeedUp | None:
        """Return the winner's speed-up over a remainder; None if that was not read or is wrong."""
        if rest == self.winner:
            return SpeedUp(1.0, 1.0, 1.0)
        if rest not in cases or not cases[rest].right:
            return None
        return contrast([(-1, cases[rest])])

    def affordable(self, cases: ReadingCache, rests: Iterable[Genotype]) -> list[Genotype]:
        """Return the remainders that are right and certainly within the allowance.

        Remainders are read until each case is clear, up to a limit. Reading stops when the result
        is clear, so the confidence is higher than that of shown intervals, and at least two batches
        are required: an interval from five builds often misses the true value.
        """
        several = [one for one in rests if one != self.winner]
        cases.read_new(several)
        for _ in range(EXTENSIONS):
            unclear = [one for one in several if self._may_go(cases[one])]
            if not unclear:
                break
            cases.read(unclear)
        return [one for one in several if self._goes(cases[one])]

    def _goes(self, reading: Reading) -> bool:
        """Tell whether a remainder is right and certainly within the allowance."""
        if not reading.right or len(reading.builds) < FEWEST_BUILDS:
            return False
        return self.allowance.covers(contrast([(-1, reading)], SURE))

    def _may_go(self, reading: Reading) -> bool:
        """Tell whether more readings may show that a remainder is within the allowance."""
        if not reading.right or self._goes(reading):
            return False
        return may_be_affordable(contrast([(-1, reading)], SURE), self.allowance.threshold)
