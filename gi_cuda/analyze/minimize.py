"""Which changes of a winner pay: GEVO's algorithm 1 with a statistical test.

Liou et al., "GEVO: GPU Code Optimization Using Evolutionary Computation" (2020) and
"Understanding the Power of Evolutionary Computation for GPU Code Optimization" (2022), algorithm 1,
leave an edit out for good where the program without it loses less than a threshold. Here the
threshold is for all that goes together, the proof is on who leaves something out, and it is given
twice: on the train cases and on others. Several edits are left out at a time where that loses
nothing, and changed configuration values count as edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.analyze.minimization import DroppedChange, KeptChange, Minimization, kept_change
from gi_cuda.evaluate.readings import Measurer, ReadingCache
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.speed_up import Reading, SpeedUp, contrast
from gi_cuda.results.verdict import LEAST_FLOOR, LEAST_GAIN, is_affordable, may_be_affordable, pays

EXTENSIONS = 4
"""Further batches for variants of which it is not certain what they cost."""

CONFIRMED = 2
"""Batches in which every remaining change must have shown that it is needed."""

FEWEST_BUILDS = 10
"""Builds of which anything is certain."""

SURE = 0.998
"""Confidence with which nothing is lost; high, because many rests are tried, and reading stops when
it is reached."""

CULPRITS = 4
"""Changes that come back, at most, one by one, where what is left does not hold on the cases that
confirm it; then all come back that went with the last of them or later."""


class WrongWinner(Exception):
    """The winner is wrong itself, on the cases that give fitness."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What leaving out may cost in all, as fractions.

    Attributes:
        threshold: by the median.
        floor: the noise floor; for certain, where it is larger.
    """

    threshold: float = LEAST_GAIN
    floor: float = LEAST_FLOOR

    def covers(self, loss: SpeedUp) -> bool:
        """Whether a loss is certainly within it."""
        return is_affordable(loss, self.threshold, self.floor)


@dataclass(frozen=True, slots=True)
class Measurers:
    """Who reads genotypes on which cases.

    Attributes:
        train: times and judges on the train cases.
        held_out, confirm: judge on the held-out cases, and on those by which nothing is chosen;
            their times are not looked at.
        train_beside, confirm_beside: make what times beside a given genotype, in turn with it.
    """

    train: Measurer
    held_out: Measurer
    confirm: Measurer
    train_beside: Callable[[Genotype], Measurer]
    confirm_beside: Callable[[Genotype], Measurer]


def minimize(
    winner: Changed, measurers: Measurers, allowance: Allowance | None = None
) -> Minimization:
    """Leave out what is wrong on cases that the search did not see, then what does not pay on the
    train cases.

    The variants of a step are one batch. Changes go in the order of their estimated contribution,
    the smallest first, as long as the rest is right on all cases and certainly loses no more than
    the allowance. Each rest is timed beside the winner itself, so that what went is paid for
    together: gains that are too small to stay by themselves stay as soon as those that went before
    have used it up. What is left must hold on the cases that confirm it as well; where it does
    not, changes come back.

    Args:
        winner: its changes.
        allowance: for what goes; None: the least one.

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
    """The state of a minimization: which changes are left, and what was read so far."""

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
        """Leave out changes until the rest is right on the cases that the search did not see."""
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
        """A change to blame: one without which the rest is right, else the last of the shortest
        stretch of changes, from the first on, that is wrong."""
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
        """Read genotypes on all cases, as far as they are right."""
        wanted = list(genotypes)
        for cases in (self.held_out, self.train, self.confirm):
            cases.read_new(wanted)
            wanted = [one for one in wanted if cases[one].right]

    def _is_right(self, genotype: Genotype) -> bool:
        return not self._why_wrong(genotype)

    def _why_wrong(self, genotype: Genotype) -> str:
        """What is wrong with a genotype, as far as it was read; "" where nothing is."""
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
        """Read what is left, and that without each change."""
        variants = [self._without(at) for at in sorted(self.left)]
        self.train.read([anchored, self.winner.having(self.left), *variants])

    def _loss(self, genotype: Genotype, anchored: Genotype) -> SpeedUp:
        """How many times as fast as a variant the winner seems to be, on the train cases."""
        return contrast([(1, self.train[anchored]), (-1, self.train[genotype])])

    def _free(self, anchored: Genotype) -> list[int]:
        """The changes without which the rest may be good, the least contribution first."""
        variants = {at: self._without(at) for at in sorted(self.left)}
        losses = {
            at: self._loss(one, anchored) for at, one in variants.items() if self.train[one].right
        }
        free = [at for at, loss in losses.items() if not pays(loss, self.allowance.threshold)]
        return sorted(free, key=lambda at: losses[at].value)

    def _drop_largest(self, free: list[int], duels: _Duels) -> bool:
        """Leave out as many of the first free changes as can go together, if any can."""
        sizes = sorted({len(free) >> shift for shift in range(len(free).bit_length())})
        rests = {size: self.winner.having(self.left - set(free[:size])) for size in sizes}
        if right := self._good(rests, duels):
            self._drop(free[: right[-1]], duels)
            return True
        # No stretch of them can go: it is one of the others, or none at all.
        singles = {at: self._without(at) for at in free}
        if right := self._good(singles, duels):
            self._drop(right[:1], duels)
            return True
        return False

    def _good(self, rests: dict[int, Genotype], duels: _Duels) -> list[int]:
        """The keys of those that lose no more than they may, for certain, and are right on all
        cases."""
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
        """Bring changes back until what is left holds on the cases that confirm it."""
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
        """How many of the changes, in their order, can go, where all of them cannot."""
        low, high = 0, len(going)
        while high - low > 1:
            middle = (low + high) // 2
            if self._stands(everything - set(going[:middle]), duels):
                low = middle
            else:
                high = middle
        return low

    def _stands(self, left: frozenset[int], duels: _Duels) -> bool:
        """Whether what is left is right everywhere, and loses no more than it may, neither on the
        train cases nor on those that confirm it."""
        rest = self.winner.having(left)
        if rest == duels.winner:
            return True
        if not all(duels.affordable(one, [rest]) for one in (duels.confirm, duels.train)):
            return False
        self.held_out.read_new([rest])
        return self.held_out[rest].right

    # -- the result --------------------------------------------------------------------------

    def _result(self, duels: _Duels) -> Minimization:
        """What is left, what each change is worth, and which are stepping stones."""
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
    """What is left, timed beside the winner.

    Attributes:
        winner: without what is wrong anywhere.
        train, confirm: readings beside it on the train cases, and on those that confirm.
        allowance: for what went.
    """

    winner: Genotype
    train: ReadingCache
    confirm: ReadingCache
    allowance: Allowance

    def loss(self, cases: ReadingCache, rest: Genotype) -> SpeedUp | None:
        """How many times as fast as a rest the winner is; None where that was not read, or the rest
        is wrong."""
        if rest == self.winner:
            return SpeedUp(1.0, 1.0, 1.0)
        if rest not in cases or not cases[rest].right:
            return None
        return contrast([(-1, cases[rest])])

    def affordable(self, cases: ReadingCache, rests: Iterable[Genotype]) -> list[Genotype]:
        """Those that are right, and lose no more than they may for certain; read until that is
        clear of each, up to a limit. As reading stops then, it takes more than what is shown, and
        two batches at least: of five builds an interval often misses the truth."""
        several = [one for one in rests if one != self.winner]
        cases.read_new(several)
        for _ in range(EXTENSIONS):
            unclear = [one for one in several if self._may_go(cases[one])]
            if not unclear:
                break
            cases.read(unclear)
        return [one for one in several if self._goes(cases[one])]

    def _goes(self, reading: Reading) -> bool:
        """Whether a rest is right, and certainly loses no more than it may."""
        if not reading.right or len(reading.builds) < FEWEST_BUILDS:
            return False
        return self.allowance.covers(contrast([(-1, reading)], SURE))

    def _may_go(self, reading: Reading) -> bool:
        """Whether that may turn out."""
        if not reading.right or self._goes(reading):
            return False
        return may_be_affordable(contrast([(-1, reading)], SURE), self.allowance.threshold)
