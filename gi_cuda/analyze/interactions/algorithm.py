"""Dependencies between a winner's changes: GEVO's algorithm 2, then subsets of dependent changes.

Algorithm 2 of Liou et al., "Understanding the Power of Evolutionary Computation for GPU Code
Optimization" (2022): a change is independent if it gains as much alone as on top of all others. For
the dependent changes, every subset is read (within a budget). This shows which changes fail without
others, and which gain more or less together than apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from gi_cuda.analyze.interactions.subsets import Positions, Subsets, joined, square, subsets_of
from gi_cuda.analyze.minimizing.minimize import EXTENSIONS, WrongWinner
from gi_cuda.evaluate.readings import Measurer, ReadingCache
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.gains import LEAST_GAIN, interacts, may_interact
from gi_cuda.results.speed_up import SpeedUp, contrast

BUDGET = 128
"""Largest number of subsets of dependent changes that are read; enough for seven changes."""


@dataclass(frozen=True, slots=True)
class Single:
    """One change by itself.

    Attributes:
        change: the change in notation.
        alone: speed-up of the change alone; None if it fails alone.
        failure: reason why it fails alone, or "".
        last: speed-up by the change on top of all others; None if the others fail without it.
        independent: whether both speed-ups are the same, and no other change depends on it.
    """

    change: str
    alone: SpeedUp | None
    failure: str
    last: SpeedUp | None
    independent: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two changes, or two blocks of changes that fail without each other.

    Attributes:
        first, second: changes of each block, in notation.
        factor: speed-up of both, divided by the product of their separate speed-ups; above 1:
            super-additive.
        context: further changes that were made during this measurement.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    factor: SpeedUp
    context: tuple[str, ...]

    @property
    def super_additive(self) -> bool:
        """Tell whether both gain more together than apart."""
        return self.factor.value > 1


@dataclass(frozen=True, slots=True)
class Dependency:
    """A change that fails without others.

    Attributes:
        change: the change in notation.
        always: changes that are in every working set that contains the change.
        either: changes that are in some, but not all, of the smallest of these sets.
    """

    change: str
    always: tuple[str, ...]
    either: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Changes that depend on each other and on no other change.

    Attributes:
        changes: the changes in notation.
        gain: speed-up by the group on top of all other changes; None if these fail without it.
        share: share of the logarithm of the total speed-up; None if `gain` is None.
    """

    changes: tuple[str, ...]
    gain: SpeedUp | None
    share: float | None


@dataclass(frozen=True, slots=True)
class Interactions:
    """Dependencies between changes.

    Attributes:
        whole: speed-up of all changes.
        singles: every change, in the genotype's order.
        needs: changes that fail without others.
        pairs: pairs that certainly gain more or less together than apart.
        groups: groups of dependent changes, the largest gain first.
        subsets, possible: number of subsets of the dependent changes that were read, and that
            exist.
        batches, variants: numbers of batches and variants that were read.
    """

    whole: SpeedUp
    singles: tuple[Single, ...]
    needs: tuple[Dependency, ...]
    pairs: tuple[Pair, ...]
    groups: tuple[Group, ...]
    subsets: int
    possible: int
    batches: int
    variants: int


_Found: TypeAlias = tuple[Positions, Positions, SpeedUp, Positions]
"""Two blocks that certainly interact, their factor, and the context of the measurement."""


def interactions(
    winner: Changed, measurer: Measurer, budget: int = BUDGET, threshold: float = LEAST_GAIN
) -> Interactions:
    """Determine the dependencies between a winner's changes.

    The variants of a step are compiled as one batch. A difference counts if its whole 95 % interval
    lies beyond ``threshold``. An interaction of two changes must also do so after further builds.

    Args:
        winner: the changes of the winner.
        measurer: reads genotypes on the train cases.
        budget: largest number of subsets of the dependent changes that are read.
        threshold: smallest difference that counts, as a fraction.

    Raises:
        WrongWinner: the winner fails.
    """
    return _Search(winner, ReadingCache(measurer), budget, threshold).run()


@dataclass(slots=True)
class _Search:
    """State of the analysis of one winner: readings of subsets of its changes."""

    winner: Changed
    readings: ReadingCache
    budget: int
    threshold: float

    def run(self) -> Interactions:
        everything = self.winner.all
        self._read_singles()
        if not self._right(everything):
            raise WrongWinner(self.readings[self.winner.whole].failure)
        subsets = self._subsets()
        pairs = self._pairs(subsets, everything)
        groups = self._groups(subsets, pairs)
        if orphans := self._orphans(groups):
            # They depend on other changes, but not certainly on the dependent ones.
            subsets = self._read_subsets(everything)
            pairs += self._pairs(subsets, orphans)
            groups = self._groups(subsets, pairs)
        self._read(everything - group for group in groups)
        linked = {at for group in groups if len(group) > 1 for at in group}
        return Interactions(
            self.readings[self.winner.whole].speed_up,
            tuple(self._single(at, linked) for at in sorted(everything)),
            tuple(self._need(at, subsets) for at in sorted(everything) if not self._right({at})),
            tuple(
                Pair(self._names(first), self._names(second), factor, self._names(context))
                for first, second, factor, context in pairs
            ),
            tuple(sorted(map(self._group, groups), key=_worth, reverse=True)),
            len(subsets.read),
            2 ** len(subsets.dependent),
            self.readings.batches,
            self.readings.variants,
        )

    def _groups(self, subsets: Subsets, pairs: list[_Found]) -> list[Positions]:
        links = [*subsets.links(), *(first | second for first, second, _, _ in pairs)]
        return joined(self.winner.all, links)

    def _orphans(self, groups: list[Positions]) -> Positions:
        """Return the dependent changes that form a group alone."""
        alone = {at for group in groups if len(group) == 1 for at in group}
        return frozenset(at for at in alone if not self._is_independent(at))

    # -- readings ----------------------------------------------------------------------------

    def _read(self, subsets: Iterable[Iterable[int]]) -> None:
        """Read in one batch the non-empty subsets that were not read before."""
        genotypes = map(self._genotype, subsets)
        self.readings.read_new(one for one in genotypes if one != self.winner.original)

    def _genotype(self, positions: Iterable[int]) -> Genotype:
        return self.winner.having(positions)

    def _names(self, positions: Iterable[int]) -> tuple[str, ...]:
        return tuple(str(self.winner.changes[at]) for at in sorted(positions))

    def _right(self, positions: Iterable[int]) -> bool:
        genotype = self._genotype(positions)
        return genotype == self.winner.original or self.readings[genotype].right

    def _factor(self, *terms: tuple[int, Iterable[int]]) -> SpeedUp:
        """Return a product of powers of the speed-ups of subsets; that of the empty one is 1."""
        exponents: dict[Genotype, int] = {}
        for exponent, positions in terms:
            genotype = self._genotype(positions)
            exponents[genotype] = exponents.get(genotype, 0) + exponent
        exponents.pop(self.winner.original, None)
        read = [(e, self.readings[one]) for one, e in exponents.items() if e]
        return contrast(read) if read else SpeedUp(1.0, 1.0, 1.0)

    def _certain(self, factor: SpeedUp) -> bool:
        return interacts(factor, self.threshold)

    def _unclear(self, factor: SpeedUp) -> bool:
        return may_interact(factor, self.threshold)

    # -- algorithm 2 -------------------------------------------------------------------------

    def _read_singles(self) -> None:
        """Read all changes, each alone, and all but each, until it is clear which ones differ."""
        everything = self.winner.all
        wanted = {at: [{at}, everything - {at}] for at in everything}
        self.readings.read(map(self._genotype, [everything, *chain(*wanted.values())]))
        # A difference must be confirmed once; a possible difference is read until it is clear.
        confirmed: set[int] = set()
        for _ in range(EXTENSIONS):
            differing = [at for at in everything if self._comparable(at) and self._differs(at)]
            again = [
                at for at in differing if at not in confirmed or self._unclear(self._excess(at))
            ]
            if not again:
                return
            confirmed.update(again)
            some = chain.from_iterable(wanted[at] for at in again)
            self.readings.read(map(self._genotype, [everything, *some]))

    def _differs(self, at: int) -> bool:
        excess = self._excess(at)
        return self._certain(excess) or self._unclear(excess)

    def _comparable(self, at: int) -> bool:
        everything = self.winner.all
        return all(map(self._right, ({at}, everything - {at}, everything)))

    def _excess(self, at: int) -> SpeedUp:
        """Return the gain of a change alone, divided by its gain on top of all others."""
        everything = self.winner.all
        return self._factor((1, {at}), (1, everything - {at}), (-1, everything))

    def _is_independent(self, at: int) -> bool:
        return self._comparable(at) and not self._certain(self._excess(at))

    # -- subsets -----------------------------------------------------------------------------

    def _subsets(self) -> Subsets:
        """Read the subsets of the dependent changes.

        A change may be independent by its gain, although another change fails without it. So if
        the dependent changes do not explain all failures, the changes that mend them are added. If
        that is not enough, all changes are.
        """
        everything = self.winner.all
        dependent = frozenset(at for at in everything if not self._is_independent(at))
        subsets = self._read_subsets(dependent)
        if not self._explains(subsets):
            subsets = self._read_subsets(dependent | self._menders(dependent))
        if not self._explains(subsets):
            subsets = self._read_subsets(everything)
        return subsets

    def _read_subsets(self, dependent: Positions) -> Subsets:
        chosen = list(subsets_of(sorted(dependent), self.budget))
        self._read(chosen)
        return Subsets(dependent, [one for one in chosen if self._right(one)], chosen)

    def _explains(self, subsets: Subsets) -> bool:
        """Tell whether the dependent changes alone explain all failures.

        A change that fails alone must work in some subset of them. If all changes fail without one
        change, the dependent ones must fail without it, too.
        """
        everything, dependent = self.winner.all, subsets.dependent
        self._read(dependent - {at} for at in dependent)
        return all(
            (self._right({at}) or bool(subsets.working(at)))
            and (self._right(everything - {at}) or not self._right(dependent - {at}))
            for at in dependent
        )

    def _menders(self, dependent: Positions) -> Positions:
        """Return the independent changes that mend a failure of a dependent change.

        A change mends a failure if a dependent change that fails alone is right together with it,
        or if all changes that fail without a dependent change are right without both.
        """
        everything = self.winner.all
        pairs = {
            other: [
                *({at, other} for at in dependent if not self._right({at})),
                *(
                    everything - {at, other}
                    for at in dependent
                    if not self._right(everything - {at})
                ),
            ]
            for other in everything - dependent
        }
        self._read(chain(*pairs.values()))
        return frozenset(other for other, some in pairs.items() if any(map(self._right, some)))

    # -- pairs -------------------------------------------------------------------------------

    def _pairs(self, subsets: Subsets, wanted: Positions) -> list[_Found]:
        """Return the pairs of blocks that certainly gain more or less together, confirmed once.

        Args:
            subsets: the subsets that were read.
            wanted: changes; at least one of the two blocks must contain one of them.
        """
        suspects = [test for test in subsets.tests() if (test[0] | test[1]) & wanted]
        for extension in range(EXTENSIONS):
            factors = {test: self._together(*test) for test in suspects}
            suspects = [t for t, f in factors.items() if self._certain(f) or self._unclear(f)]
            again = [t for t in suspects if extension == 0 or self._unclear(factors[t])]
            if again:
                squares = chain.from_iterable(square(*test) for test in again)
                self.readings.read(self._genotype(one) for one in squares if one)
        best: dict[tuple[Positions, Positions], tuple[SpeedUp, Positions]] = {}
        for first, second, context in suspects:
            factor = self._together(first, second, context)
            if self._certain(factor):
                best.setdefault((first, second), (factor, context))
        return [(*pair, factor, context) for pair, (factor, context) in best.items()]

    def _together(self, first: Positions, second: Positions, context: Positions) -> SpeedUp:
        none, one, other, both = square(first, second, context)
        return self._factor((1, both), (1, none), (-1, one), (-1, other))

    # -- results -----------------------------------------------------------------------------

    def _single(self, at: int, linked: Set[int]) -> Single:
        everything = self.winner.all
        alone = self.readings[self._genotype({at})]
        rest = everything - {at}
        return Single(
            str(self.winner.changes[at]),
            alone.speed_up if alone.right else None,
            alone.failure,
            self._factor((1, everything), (-1, rest)) if self._right(rest) else None,
            at not in linked and self._is_independent(at),
        )

    def _need(self, at: int, subsets: Subsets) -> Dependency:
        working = subsets.working(at)
        always = frozenset.intersection(*working) if working else frozenset()
        least = min(map(len, working), default=0)
        some = frozenset[int]().union(*(one for one in working if len(one) == least))
        name = str(self.winner.changes[at])
        return Dependency(name, self._names(always - {at}), self._names(some - always))

    def _group(self, group: Positions) -> Group:
        everything = self.winner.all
        if not self._right(everything - group):
            return Group(self._names(group), None, None)
        gain = self._factor((1, everything), (-1, everything - group))
        whole = self.readings[self.winner.whole].speed_up.value
        share = math.log(gain.value) / math.log(whole) if whole != 1 else None
        return Group(self._names(group), gain, share)


def _worth(group: Group) -> float:
    return group.gain.value if group.gain else 0.0
