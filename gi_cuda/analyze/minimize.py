"""Which changes of a winner pay: GEVO's algorithm 1 with a statistical test.

Liou et al., "GEVO: GPU Code Optimization Using Evolutionary Computation" (2020) and
"Understanding the Power of Evolutionary Computation for GPU Code Optimization" (2022), algorithm 1,
leave an edit out for good where the program without it loses less than a threshold. Here the
threshold is for all that goes together, the proof is on who leaves something out, and it is given
twice: on the train cases and on others. Several edits are left out at a time where that loses
nothing, and changed configuration values count as edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.analyze.minimization import DroppedChange, KeptChange, Minimization, kept_change
from gi_cuda.evaluate.readings import Measurer, ReadingCache
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.speed_up import SpeedUp, contrast
from gi_cuda.results.verdict import (
    LEAST_FLOOR,
    LEAST_GAIN,
    is_affordable,
    may_be_affordable,
    pays,
)

EXTENSIONS = 4
"""Further batches for variants of which it is not certain what they cost."""

CONFIRMED = 2
"""Batches in which every remaining change must have shown that it is needed."""

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

    def may_cover(self, loss: SpeedUp) -> bool:
        """Whether a loss seems to be within it, and that is not certain."""
        return may_be_affordable(loss, self.threshold, self.floor)


def minimize(
    winner: Changed,
    train: Measurer,
    held_out: Measurer,
    confirm: Measurer,
    allowance: Allowance | None = None,
) -> Minimization:
    """Leave out what is wrong on cases that the search did not see, then what does not pay on the
    train cases.

    The variants of a step are one batch. Changes go in the order of their estimated contribution,
    the smallest first, as long as the rest is right on all cases and certainly loses no more than
    the allowance. Each rest is held against the winner itself, so that what went is paid for
    together: gains that are too small to stay by themselves stay as soon as those that went before
    have used it up. What is left must hold on the cases that confirm it as well; where it does
    not, changes come back.

    Args:
        winner: its changes.
        train: times and judges on the train cases.
        held_out: judges on the held-out cases; its times are not looked at.
        confirm: times and judges on cases by which nothing is chosen.
        allowance: for what goes; None: the least one.

    Raises:
        WrongWinner: the winner fails on the train cases.
    """
    search = _Search(
        winner,
        ReadingCache(train),
        ReadingCache(held_out),
        ReadingCache(confirm),
        allowance or Allowance(),
    )
    return search.run()


@dataclass(slots=True)
class _Search:
    """The state of a minimization: which changes are left, and what was read so far."""

    winner: Changed
    train: ReadingCache
    held_out: ReadingCache
    confirm: ReadingCache
    allowance: Allowance
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
        confirmed = 0
        while True:
            self._read_round(anchored)
            free = self._free(anchored)
            if free and self._drop_largest(free, anchored):
                confirmed = 0
            else:
                confirmed += 1
                if confirmed == CONFIRMED or not self.left:
                    break
        self._bring_back(anchored)
        return self._result(anchored)

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
        """How many times as fast as a variant the winner is, on the train cases."""
        return _loss_in(self.train, genotype, anchored)

    def _free(self, anchored: Genotype) -> list[int]:
        """The changes without which the rest may be good, the least contribution first."""
        variants = {at: self._without(at) for at in sorted(self.left)}
        losses = {
            at: self._loss(one, anchored) for at, one in variants.items() if self.train[one].right
        }
        free = [at for at, loss in losses.items() if not pays(loss, self.allowance.threshold)]
        return sorted(free, key=lambda at: losses[at].value)

    def _drop_largest(self, free: list[int], anchored: Genotype) -> bool:
        """Leave out as many of the first free changes as can go together, if any can."""
        sizes = sorted({len(free) >> shift for shift in range(len(free).bit_length())})
        rests = {size: self.winner.having(self.left - set(free[:size])) for size in sizes}
        if right := self._good(rests, anchored):
            self._drop(free[: right[-1]], anchored)
            return True
        # No stretch of them can go: it is one of the others, or none at all.
        singles = {at: self._without(at) for at in free}
        if right := self._good(singles, anchored):
            self._drop(right[:1], anchored)
            return True
        return False

    def _good(self, rests: dict[int, Genotype], anchored: Genotype) -> list[int]:
        """The keys of those that lose no more than they may, for certain, and are right on all
        cases."""
        _settle(self.train, list(rests.values()), anchored, self.allowance)
        good = {key: one for key, one in rests.items() if self._holds(self.train, one, anchored)}
        self.held_out.read_new(good.values())
        return [key for key, one in good.items() if self.held_out[one].right]

    def _holds(self, cases: ReadingCache, genotype: Genotype, anchored: Genotype) -> bool:
        """Whether a rest is right on some cases, and loses no more than it may."""
        right = cases[genotype].right
        return right and self.allowance.covers(_loss_in(cases, genotype, anchored))

    def _drop(self, changes: list[int], anchored: Genotype) -> None:
        for at in changes:
            loss = self._loss(self._without(at), anchored)
            self.dropped[at] = DroppedChange(self._name(at), loss, "does not pay")
        self.left -= set(changes)

    # -- cases by which nothing was chosen -----------------------------------------------------

    def _bring_back(self, anchored: Genotype) -> None:
        """Bring changes back until what is left holds on the cases that confirm it."""
        gone = [at for at, one in self.dropped.items() if one.gain is not None]
        everything, going, last = self.left | set(gone), gone, 0
        for _ in range(CULPRITS):
            if self._stands(everything - set(going), anchored):
                break
            last = self._longest(everything, going, anchored)
            going = going[:last] + going[last + 1 :]
        else:
            going = going[:last]
        self.left = everything - set(going)
        for at in self.left & set(gone):
            del self.dropped[at]

    def _longest(self, everything: frozenset[int], going: Sequence[int], anchored: Genotype) -> int:
        """How many of the changes, in their order, can go, where all of them cannot."""
        low, high = 0, len(going)
        while high - low > 1:
            middle = (low + high) // 2
            if self._stands(everything - set(going[:middle]), anchored):
                low = middle
            else:
                high = middle
        return low

    def _stands(self, left: frozenset[int], anchored: Genotype) -> bool:
        """Whether what is left is right everywhere, and loses no more than it may, neither on the
        train cases nor on those that confirm it."""
        rest = self.winner.having(left)
        if rest == anchored:
            return True
        for cases in (self.confirm, self.train):
            _settle(cases, [rest], anchored, self.allowance)
            if not self._holds(cases, rest, anchored):
                return False
        self.held_out.read_new([rest])
        return self.held_out[rest].right

    # -- the result --------------------------------------------------------------------------

    def _result(self, anchored: Genotype) -> Minimization:
        """What is left, what each change is worth, and which are stepping stones."""
        having, order = self.winner.having, sorted(self.left)
        genotype, caches = having(order), (self.train, self.held_out, self.confirm)
        without = {at: self._without(at) for at in order}
        vital = [at for at in order if not self._is_right(without[at])]
        pairs = [having(self.left - {at, other}) for at in vital for other in order if other != at]
        alone = [having([at]) for at in order]
        self.train.read_new([genotype, *without.values(), *alone, *pairs])
        self.held_out.read_new(pairs)
        losses = [
            _loss_in(cases, genotype, anchored)
            if genotype in cases and cases[genotype].right
            else None
            for cases in (self.train, self.confirm)
        ]
        kept = tuple(self._kept(at, genotype, vital) for at in order)
        return Minimization(
            str(genotype),
            self.train[genotype].speed_up,
            self.train[self.winner.whole].speed_up,
            kept,
            tuple(self.dropped.values()),
            sum(one.batches for one in caches),
            sum(one.variants for one in caches),
            *losses,
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


def _loss_in(cases: ReadingCache, genotype: Genotype, anchored: Genotype) -> SpeedUp:
    """How many times as fast as a variant the winner is, on some cases."""
    if genotype == anchored:
        return SpeedUp(1.0, 1.0, 1.0)
    return contrast([(1, cases[anchored]), (-1, cases[genotype])])


def _settle(
    cases: ReadingCache, variants: Sequence[Genotype], anchored: Genotype, allowance: Allowance
) -> None:
    """Read variants, and on those of which it is not clear whether their loss is covered, up to a
    limit."""
    cases.read_new([anchored, *variants])
    for _ in range(EXTENSIONS):
        unclear = [
            one
            for one in variants
            if cases[one].right and allowance.may_cover(_loss_in(cases, one, anchored))
        ]
        if not unclear:
            return
        cases.read([anchored, *unclear])
