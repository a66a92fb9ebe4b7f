"""Test class for presets of your own, which checks the properties that a search relies on.

.. code-block:: python

    from gi_cuda.search.conformance import PresetConformance
    from my_search import PRESET

    class TestMySearch(PresetConformance):
        preset = PRESET

Run it with pytest. Nothing is compiled or timed, so it takes seconds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from xxhash import xxh3_64_intdigest, xxh3_128_digest

import gi_cuda
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search.history import History
from gi_cuda.search.loop import Evolution
from gi_cuda.search.preset import Preset, Strategy
from gi_cuda.search.recipes import Recipe
from gi_cuda.store import Store
from gi_cuda.subject import Subject, load_subject


class _Trial(NamedTuple):
    """A genotype with the tabu key of its phenotype."""

    genotype: Genotype
    key: bytes | None


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """An evaluator that renders individuals, and computes their results instead of measuring
    them.
    """

    subject: Subject
    measure: Callable[[Genotype], Evaluation]

    def prepare(self, batch: Mapping[int, Genotype]) -> Mapping[int, _Trial]:
        return {ident: _Trial(one, self._key(one)) for ident, one in batch.items()}

    def _key(self, one: Genotype) -> bytes:
        text = f"{self.subject.render(one, None)}{self.subject.macros(one.configuration)}"
        return xxh3_128_digest(text.encode())

    def evaluate(
        self,
        batch: Mapping[int, _Trial],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, _Trial]],
    ) -> Generator[tuple[int, Evaluation], None, None]:
        left = dict(batch)
        while left and not stop():
            ident = min(left)
            yield ident, self.measure(left.pop(ident).genotype)
            left |= more() if left else {}


@dataclass(frozen=True, slots=True)
class _Watched:
    """A strategy whose recipes are recorded, with the number of the first individual of each
    cohort.
    """

    strategy: Strategy
    store: Store
    bred: list[tuple[int, list[Recipe]]]

    def recipes(self, history: History, rng: random.Random) -> list[Recipe]:
        made = self.strategy.recipes(history, rng)
        self.bred.append((self.store.next_ident(), made))
        return made


class PresetConformance:
    """Base class of conformance tests. Derive a class named ``Test...`` and set :attr:`preset`.

    Attributes:
        preset: the preset to test.
        target: a target's folder; by default an example with parameters and constraints.
        population, generations: size of each search.
    """

    preset: ClassVar[Preset]
    target: ClassVar[Path] = Path(gi_cuda.__file__).parent / "examples" / "sw_tuned"
    population: ClassVar[int] = 16
    generations: ClassVar[int] = 3

    def evaluation(self, genotype: Genotype) -> Evaluation:
        """Return the result of a genotype: each change is wrong, slower, faster or neutral.

        The result of a change is random, but always the same.
        """
        ratio = 1.0
        for gene in (*genotype.configuration.settings, *genotype.edits):
            chance = xxh3_64_intdigest(str(gene).encode()) / 2**64
            if chance < 0.25:
                return Evaluation(True, Survival.NORMAL, penalty=1.0, message="wrong")
            ratio *= 0.9 if chance > 0.8 else 1.05 if chance > 0.7 else 1.0
        verdict = Verdict.FASTER if ratio < 0.99 else Verdict.SAME
        return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, ratio, ratio)

    def search(self, *stops: float) -> tuple[list[Individual], list[tuple[int, list[Recipe]]]]:
        """Run a search on the target with a fixed seed.

        Args:
            stops: numbers of evaluations after which the search is stopped and resumed.

        Returns:
            The individuals; and the number of the first individual and the recipes of each cohort.
        """
        subject = load_subject(self.target, "host", edits=self.preset.edits)
        self.preset.demand(subject)
        settings = self.preset.settings.having(self.population, self.generations)
        evaluator, variation = _Evaluator(subject, self.evaluation), self.preset.vary(subject)
        bred: list[tuple[int, list[Recipe]]] = []
        with Store(Path(":memory:"), create=True) as store:
            for until in (*stops, math.inf):
                strategy = _Watched(self.preset.strategy(settings), store, bred)
                search = Evolution(
                    *(store, evaluator, Phases, strategy, variation, settings, 1),
                    stop=lambda until=until: len(store.evaluations()) >= until,  # type: ignore[misc]
                )
                list(search.run())
            return store.individuals(), bred

    def test_a_seed_repeats_a_search(self) -> None:
        first, again = self.search()[0], self.search()[0]
        assert again == first != [], "breed individuals, by random numbers of `rng` alone"

    def test_a_search_that_is_stopped_goes_on_as_if_it_had_not_been(self) -> None:
        resumed, _ = self.search(1, self.population, 1.5 * self.population)
        assert resumed == self.search()[0], "keep nothing in the strategy: ask `history`"

    def test_recipes_fit_their_places_and_name_individuals_that_exist(self) -> None:
        places = self.preset.settings.having(self.population, None).cohort
        for first, recipes in self.search()[1]:
            assert 0 < len(recipes) <= places, f"{len(recipes)} recipes for {places} places"
            for one in recipes:
                strange = [parent for parent in one.parents if not 0 < parent < first]
                assert not strange, f"{one.origin} of individuals that do not exist: {strange}"

    def test_children_keep_the_constraints_and_are_stored_as_they_are(self) -> None:
        subject = load_subject(self.target, "host", edits=self.preset.edits)
        for one in self.search()[0]:
            found = subject.read(one.genotype)  # raises if a constraint is violated
            assert subject.key(found) == one.genotype_key, f"{one.genotype} is read as {found}"
