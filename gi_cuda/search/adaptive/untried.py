"""Edits that were never tried."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property
from random import Random

from gi_cuda.genome import Genotype
from gi_cuda.genome.edits import EDIT_KINDS, Edit, repeats
from gi_cuda.genome.genotype import Change
from gi_cuda.grammar import Selection
from gi_cuda.search.recipes import Keys, Variation


class Untried:
    """The edits that are left to try at each rule; each kind is in a random order that is drawn
    once.

    The next edit thus depends only on the edits tried so far, and is found without a new scan.

    Args:
        variation: how genotypes vary.
        ground: genotype that the edits are added to; it determines the possible edits.
        grounds: all genotypes that edits are added to, including `ground`; may grow.
        seed: determines the orders.
        tried: edits that were tried; may grow.
    """

    def __init__(
        self,
        variation: Variation,
        ground: Genotype,
        grounds: Sequence[Genotype],
        seed: int,
        tried: Container[Change],
    ) -> None:
        self._variation = variation
        self._ground = ground
        self._grounds = grounds
        self._seed = seed
        self._tried = tried
        self._left: dict[tuple[str, type[Edit]], list[Edit]] = {}

    @cached_property
    def _view(self) -> Selection:
        return self._variation.subject.offered.under(self._ground.configuration.macros)

    @cached_property
    def kinds(self) -> dict[str, list[type[Edit]]]:
        """The possible kinds of edits at each rule, tried or not."""
        offered = {
            place: [kind for kind in EDIT_KINDS if kind.operation in self._view.operations(place)]
            for place in self._view.mutable
        }
        return {place: kinds for place, kinds in offered.items() if kinds}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """An upper bound of the number of edits at each rule that has any, tried or not."""
        counted = {
            place: sum(kind.count(self._view, place) for kind in kinds)
            for place, kinds in self.kinds.items()
        }
        return {place: number for place, number in counted.items() if number}

    def next(self, place: str, kind: type[Edit], known: Keys) -> Edit | None:
        """Return the next edit of a kind at a rule; None if all were tried.

        Args:
            known: tabu keys of genotypes.
        """
        left = self._left.get((place, kind))
        if left is None:
            left = kind.every(place, self._variation.subject.offered, self._view)
            Random(f"{self._seed}/{place}/{kind.__name__}").shuffle(left)
            self._left[place, kind] = left
        while left and not self._is_new(left[-1], known):
            left.pop()
        return left[-1] if left else None

    def _is_new(self, edit: Edit, known: Keys) -> bool:
        """Tell whether an edit was never tried and is not about to be.

        An edit that was dropped as a duplicate when it was tried alone has no effect.
        """
        return edit not in self._tried and all(
            not repeats(ground.edits, edit) and self._key(ground, edit) not in known
            for ground in self._grounds
        )

    def _key(self, ground: Genotype, edit: Edit) -> bytes:
        alone = Genotype(ground.configuration, (*ground.edits, edit))
        return self._variation.subject.key(alone)
