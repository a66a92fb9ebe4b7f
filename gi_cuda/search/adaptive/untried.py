"""Edits that nothing was tried with yet."""

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
    """What is left to be tried at each rule, each kind of edit in an order that is drawn once.

    So what comes next depends on what was tried and on nothing else, and is found without looking
    at all of it again.

    Args:
        variation: how genotypes vary.
        ground: what edits would be made to; those are left that it is offered.
        grounds: what they are made to elsewhere, this one among it; it grows.
        seed: decides the orders.
        tried: what was tried; it grows.
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
        """The kinds of edits that are offered at each rule, whether anything is left of them or
        not."""
        offered = {
            place: [kind for kind in EDIT_KINDS if kind.operation in self._view.operations(place)]
            for place in self._view.mutable
        }
        return {place: kinds for place, kinds in offered.items() if kinds}

    @cached_property
    def numbers(self) -> dict[str, int]:
        """At most how many edits there are at each rule that has any, tried or not."""
        counted = {
            place: sum(kind.count(self._view, place) for kind in kinds)
            for place, kinds in self.kinds.items()
        }
        return {place: number for place, number in counted.items() if number}

    def next(self, place: str, kind: type[Edit], known: Keys) -> Edit | None:
        """The next edit of a kind at a rule; None: all were tried.

        Args:
            known: genotypic tabu keys.
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
        """Whether nothing was tried with an edit, or is to be. What was dropped as a duplicate
        when it was tried alone has no effect."""
        return edit not in self._tried and all(
            not repeats(ground.edits, edit) and self._key(ground, edit) not in known
            for ground in self._grounds
        )

    def _key(self, ground: Genotype, edit: Edit) -> bytes:
        alone = Genotype(ground.configuration, (*ground.edits, edit))
        return self._variation.subject.key(alone)
