"""Which changes of a winner pay: GEVO's algorithm 1 with a statistical test.

Liou et al., "GEVO: GPU Code Optimization Using Evolutionary Computation" (2020) and
"Understanding the Power of Evolutionary Computation for GPU Code Optimization" (2022), algorithm 1,
leave an edit out for good where the program without it loses less than a threshold. Here the loss
must be certain to exceed the threshold for the edit to stay; several edits are left out at a time
where that loses nothing; and changed configuration values count as edits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gi_cuda.evaluate.readings import Measurer, ReadingCache
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.speed_up import Reading, SpeedUp, contrast
from gi_cuda.results.verdict import LEAST_GAIN, may_pay, pays

EXTENSIONS = 4
"""Further batches for variants of which it is not certain whether they cost more than that."""

CONFIRMED = 2
"""Batches in which every remaining change must have shown that it is needed."""


class WrongWinner(Exception):
    """The winner is wrong itself, on the cases that give fitness."""


@dataclass(frozen=True, slots=True)
class DroppedChange:
    """A change that was left out.

    Attributes:
        change: in notation.
        gain: how many times as fast all the others were with it; None where it went because
            its answers were wrong.
        reason: why it went, in words.
    """

    change: str
    gain: SpeedUp | None
    reason: str


@dataclass(frozen=True, slots=True)
class KeptChange:
    """A change that stays.

    Attributes:
        change: in notation.
        gain: how many times as fast the minimized genotype is with it as without it; None where it
            fails without it.
        without: why the minimized genotype fails without it, or "".
        alone: the speed-up of this change alone; None where that fails.
        failure: why it fails alone, or "".
        needed_by: the other changes that work only with this one.
    """

    change: str
    gain: SpeedUp | None
    without: str
    alone: SpeedUp | None
    failure: str
    needed_by: tuple[str, ...] = ()

    @property
    def stepping_stone(self) -> bool:
        """Whether it is of no use alone, and others fail without it (Liou et al. 2022)."""
        return bool(self.without) and not (self.alone and pays(self.alone))


def kept_change(change: str, whole: Reading, rest: Reading, alone: Reading) -> KeptChange:
    """What a change is worth.

    Args:
        change: in notation.
        whole, rest: with all others, the change made and not made.
        alone: without any other.
    """
    gain = contrast([(1, whole), (-1, rest)]) if whole.right and rest.right else None
    speed_up = alone.speed_up if alone.right else None
    return KeptChange(change, gain, rest.failure, speed_up, alone.failure)


@dataclass(frozen=True, slots=True)
class Minimization:
    """What became of a winner's changes.

    Attributes:
        genotype: what is left, in notation; right on all cases.
        speed_up: its own, on the cases that give fitness.
        before: that of the winner as it was found.
        kept: the changes that stay, in the genotype's order.
        dropped: the others, in the order in which they went.
        batches, variants: what it took.
    """

    genotype: str
    speed_up: SpeedUp
    before: SpeedUp
    kept: tuple[KeptChange, ...]
    dropped: tuple[DroppedChange, ...]
    batches: int
    variants: int


def minimize(
    winner: Changed, train: Measurer, held_out: Measurer, threshold: float = LEAST_GAIN
) -> Minimization:
    """Leave out what is wrong on held-out cases, then what does not pay on the train cases.

    The variants of a step are one batch. Changes go in the order of their estimated contribution,
    the smallest first, as long as the rest is right on all cases and not measurably slower than
    the winner: the lower end of the 95 % interval of its loss does not exceed ``threshold``. So
    small losses do not add up, and what is left cannot lose any single change.

    Args:
        winner: its changes.
        train: times and judges on the train cases.
        held_out: judges on the held-out cases; its times are not looked at.

    Raises:
        WrongWinner: the winner fails on the train cases.
    """
    return _Search(winner, ReadingCache(train), ReadingCache(held_out), threshold).run()


@dataclass(slots=True)
class _Search:
    """The state of a minimization: which changes are left, and what was read so far."""

    winner: Changed
    train: ReadingCache
    held_out: ReadingCache
    threshold: float
    left: frozenset[int] = frozenset()
    anchor: Reading = field(default_factory=Reading)
    dropped: list[DroppedChange] = field(default_factory=list)

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
            free = self._free()
            if free and self._drop_largest(free, anchored):
                confirmed = 0
            else:
                confirmed += 1
                if confirmed == CONFIRMED or not self.left:
                    return self._result(anchored)

    # -- held-out cases ----------------------------------------------------------------------

    def _drop_wrong(self) -> None:
        """Leave out changes until the rest is right on the held-out cases."""
        rest = self.winner.having(self.left)
        self._read_both([rest])
        while self.left and not self._is_right(rest):
            culprit = self._culprit()
            self.dropped.append(DroppedChange(self._name(culprit), None, self._why_wrong(rest)))
            self.left -= {culprit}
            rest = self.winner.having(self.left)
            self._read_both([rest])

    def _name(self, at: int) -> str:
        return str(self.winner.changes[at])

    def _culprit(self) -> int:
        """A change to blame: one without which the rest is right, else the last of the shortest
        stretch of changes, from the first on, that is wrong."""
        having = self.winner.having
        order = sorted(self.left)
        without = {at: having(self.left - {at}) for at in order}
        self._read_both(without.values())
        for at in order:
            if self._is_right(without[at]):
                return at
        stretches = [having(order[: n + 1]) for n in range(len(order))]
        self._read_both(stretches)
        for at, stretch in zip(order, stretches, strict=True):
            if not self._is_right(stretch):
                return at
        return order[-1]

    def _read_both(self, genotypes: Iterable[Genotype]) -> None:
        wanted = list(genotypes)
        self.held_out.read_new(wanted)
        self.train.read_new([one for one in wanted if self.held_out[one].right])

    def _is_right(self, genotype: Genotype) -> bool:
        return not self._why_wrong(genotype)

    def _why_wrong(self, genotype: Genotype) -> str:
        """What is wrong with a genotype, as far as it was read; "" where nothing is."""
        if genotype in self.train and not self.train[genotype].right:
            return self.train[genotype].failure
        if genotype in self.held_out and not self.held_out[genotype].right:
            return f"on held-out cases: {self.held_out[genotype].failure}"
        return ""

    # -- train cases -------------------------------------------------------------------------

    def _without(self, at: int) -> Genotype:
        return self.winner.having(self.left - {at})

    def _read_round(self, anchored: Genotype) -> None:
        """Read what is left, and that without each change, until every loss is clear."""
        variants = [self._without(at) for at in sorted(self.left)]
        self.train.read([anchored, self.winner.having(self.left), *variants])
        self._settle(variants, anchored)

    def _settle(self, variants: list[Genotype], anchored: Genotype) -> None:
        """Read on those of which it is not clear whether they are slower, up to a limit."""
        self.anchor = self.train[anchored]
        for _ in range(EXTENSIONS):
            unclear = [one for one in variants if self._is_unclear(one)]
            if not unclear:
                return
            self.train.read([anchored, *unclear])
            self.anchor = self.train[anchored]

    def _loss(self, genotype: Genotype) -> SpeedUp:
        """How many times as fast as a variant the winner is."""
        return contrast([(1, self.anchor), (-1, self.train[genotype])])

    def _is_unclear(self, genotype: Genotype) -> bool:
        return self.train[genotype].right and may_pay(self._loss(genotype), self.threshold)

    def _is_good(self, genotype: Genotype) -> bool:
        """Right on the train cases, and not measurably slower than the winner."""
        return self.train[genotype].right and not pays(self._loss(genotype), self.threshold)

    def _free(self) -> list[int]:
        """The changes without which the rest is good, the least contribution first."""
        variants = {at: self._without(at) for at in sorted(self.left)}
        losses = {at: self._loss(one) for at, one in variants.items() if self.train[one].right}
        free = [at for at, loss in losses.items() if not pays(loss, self.threshold)]
        return sorted(free, key=lambda at: losses[at].value)

    def _drop_largest(self, free: list[int], anchored: Genotype) -> bool:
        """Leave out as many of the first free changes as can go together, if any can."""
        sizes = sorted({len(free) >> shift for shift in range(len(free).bit_length())})
        rests = {size: self.winner.having(self.left - set(free[:size])) for size in sizes}
        several = [rests[size] for size in sizes if size > 1]
        self.train.read([anchored, *several])
        self._settle(several, anchored)
        # One change goes if it is not clear that it pays; several together do not.
        good = [
            size
            for size in sizes
            if self._is_good(rests[size]) and (size == 1 or not self._is_unclear(rests[size]))
        ]
        self.held_out.read_new([rests[size] for size in good])
        right = [size for size in good if self.held_out[rests[size]].right]
        if right:
            self._drop(free[: right[-1]])
            return True
        # No stretch of them can go: it is one of the others, or none at all.
        singles = {at: self._without(at) for at in free}
        self.held_out.read_new(singles.values())
        for at, rest in singles.items():
            if self.held_out[rest].right:
                self._drop([at])
                return True
        return False

    def _drop(self, changes: list[int]) -> None:
        for at in changes:
            loss = self._loss(self._without(at))
            self.dropped.append(DroppedChange(self._name(at), loss, "does not pay"))
        self.left -= set(changes)

    # -- the result --------------------------------------------------------------------------

    def _result(self, anchored: Genotype) -> Minimization:
        """What is left, what each change is worth, and which are stepping stones."""
        having, order = self.winner.having, sorted(self.left)
        genotype = having(order)
        without = {at: self._without(at) for at in order}
        vital = [at for at in order if not self._is_right(without[at])]
        pairs = [having(self.left - {at, other}) for at in vital for other in order if other != at]
        self.train.read_new([*(having([at]) for at in order), *pairs])
        self.held_out.read_new(pairs)
        kept = tuple(self._kept(at, genotype, vital) for at in order)
        return Minimization(
            str(genotype),
            self.train[genotype].speed_up,
            self.train[self.winner.whole].speed_up,
            kept,
            tuple(self.dropped),
            self.train.batches + self.held_out.batches,
            self.train.variants + self.held_out.variants,
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
