"""Mutations that are drawn by what is known of kinds of edits and of rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from gi_cuda.genome import Genotype
from gi_cuda.genome.edits import EDIT_KINDS, Edit, repeats
from gi_cuda.genome.variation import draw_pair, mutate_configuration
from gi_cuda.grammar import Selection
from gi_cuda.search.adaptive.knowledge import Knowledge, Tried
from gi_cuda.search.recipes import Keys, Origin, Recipe, Variation


class Drawing:
    """Draws edits for the mutants of one generation: those that nothing was tried with, each once.

    Args:
        knowledge: decides between rules and between kinds.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._variation = knowledge.variation
        self._drawn: set[Edit] = set()
        self._left: dict[Selection, dict[str, list[type[Edit]]]] = {}

    def draw(self, genotype: Genotype, known: Keys, rng: Random) -> Edit | None:
        """An edit for a genotype: rule and kind by what such edits gave, the donor by chance.

        None where every edit was tried.
        """
        view = self._variation.subject.offered.under(genotype.configuration.macros)
        if view not in self._left:
            self._left[view] = self._offered(view)
        left = self._left[view]
        grammar = self._variation.subject.offered
        while left:
            place = self._knowledge.rules.draw(list(left), rng)
            rule = grammar.rule(place).type
            _, kind = self._knowledge.kinds.draw([(rule, one) for one in left[place]], rng)
            edits = kind.every(place, grammar, view)
            rng.shuffle(edits)
            edit = next((one for one in edits if self._is_untried(one, known)), None)
            if edit is None:
                left[place].remove(kind)
                if not left[place]:
                    del left[place]
                continue
            self._drawn.add(edit)
            if not repeats(genotype.edits, edit):
                return edit
        return None

    def _offered(self, view: Selection) -> dict[str, list[type[Edit]]]:
        offered = {
            place: [kind for kind in EDIT_KINDS if kind.operation in view.operations(place)]
            for place in view.mutable
        }
        return {place: kinds for place, kinds in offered.items() if kinds}

    def _is_untried(self, edit: Edit, known: Keys) -> bool:
        """Whether nothing was tried with an edit. What was dropped as a duplicate when it was tried
        alone has no effect."""
        if edit in self._knowledge.tried or edit in self._drawn:
            return False
        original = self._variation.original
        alone = Genotype(original.configuration, (*original.edits, edit))
        return self._variation.subject.key(alone) not in known


@dataclass(frozen=True, slots=True)
class Guided:
    """A mutant of one parent by an edit that nothing was tried with yet.

    Attributes:
        drawing: draws the edit.
        parent: what is mutated.
        otherwise: what takes its place where everything was tried.
        pairs: the chance that it is a move or a swap, which is two edits.
    """

    drawing: Drawing
    parent: Tried
    otherwise: Recipe
    pairs: float = 0.0
    origin: Origin = field(default=Origin.MUTATION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return self.parent.parents

    def make(self, variation: Variation, known: Keys, rng: Random) -> Genotype | None:
        genotype = self.parent.genotype
        if not variation.code:
            return variation.mutate(genotype, rng)
        if rng.random() < variation.rates.configuration:
            configuration = mutate_configuration(genotype.configuration, rng, variation.rates)
            if configuration is not None:
                return Genotype(configuration, genotype.edits)
        if self.pairs and rng.random() < self.pairs:
            pair = draw_pair(genotype, variation.subject.offered, rng)
            if pair is not None:
                return Genotype(genotype.configuration, (*genotype.edits, *pair))
        edit = self.drawing.draw(genotype, known, rng)
        return None if edit is None else Genotype(genotype.configuration, (*genotype.edits, edit))

    def fallback(self) -> Recipe | None:
        return self.otherwise
