"""The evolution loop. All its state is in the run database, so it can stop and go on anywhere."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.search.breeding import FitnessEvaluator, Tabu, breed
from gi_cuda.search.history import History
from gi_cuda.search.preset import Settings, Strategy
from gi_cuda.search.recipes import Member, Variation
from gi_cuda.store import Store, Tabued


class End(StrEnum):
    """Why a search ended."""

    COMPLETE = "all generations are done"
    STOPPED = "stopped"
    USED_UP = "the space is used up: every variant that can be made has been tried"


@dataclass(frozen=True, slots=True)
class Progress:
    """One finished evaluation, or (``ident`` None) a generation that was just bred."""

    generation: int
    ident: int | None
    size: int
    evaluation: Evaluation | None = None


@dataclass(slots=True)
class Evolution:
    """A search over a run database.

    Attributes:
        store: where everything goes and, on resuming, comes from.
        evaluator: makes individuals ready and evaluates them.
        phases: takes what the evaluator spent since the last call, by phase.
        strategy, variation, settings: the search itself.
        seed: with it and the scores, every decision of the search can be repeated.
        stop: asked between evaluations and while there are none for long; True ends the search.
        end: why it ended, once it has.
    """

    store: Store
    evaluator: FitnessEvaluator[Any]
    phases: Callable[[], Phases]
    strategy: Strategy
    variation: Variation
    settings: Settings
    seed: int
    stop: Callable[[], bool]
    end: End | None = None
    _genotypes: dict[str, Genotype] = field(default_factory=dict)

    def run(self) -> Iterator[Progress]:
        """Evolve until done or stopped; yields as things happen."""
        tabued = self.store.tabu()
        tabu = Tabu(tabued.genotypes, tabued.phenotypes)
        done = self.store.generations()
        if not done:
            self._forbid_reference(tabu)
        number = len(done) - 1
        history = History(self.variation, self.seed, tabu.genotypes, self._members)
        if done:
            work, wall = time.process_time(), time.perf_counter()
            pending = {one.ident: self._read(one.genotype) for one in self.store.pending(number)}
            prepared = self.evaluator.prepare(pending) if pending else {}
            yield from self._evaluate(number, prepared, work, wall)
        while self.end is None:
            number += 1
            history.bred = number
            if number >= self.settings.generations:
                self.end = End.COMPLETE
            elif self.stop():
                self.end = End.STOPPED
            else:
                yield from self._generation(number, history, tabu)

    def _forbid_reference(self, tabu: Tabu) -> None:
        """The reference counts as tried, in genotype and in phenotype."""
        original = self.variation.original
        tabu.add_genotype(self.variation.subject.key(original))
        phenotype = self.evaluator.prepare({0: original})[0].key
        if phenotype is not None:
            tabu.add_phenotype(phenotype)

    def _generation(self, number: int, history: History, tabu: Tabu) -> Iterator[Progress]:
        work, wall = time.process_time(), time.perf_counter()
        rng = random.Random(f"{self.seed}/{number}")
        offspring = breed(
            self.strategy.recipes(history, rng),
            self.variation,
            self.evaluator,
            tabu,
            self.settings,
            rng,
            first=self.store.next_ident(),
        )
        if not offspring.children:
            self.end = End.USED_UP
            return
        individuals = [
            Individual(
                ident,
                number,
                str(child.genotype),
                child.key,
                offspring.prepared[ident].key,
                child.origin,
                child.parents,
            )
            for ident, child in offspring.children.items()
        ]
        self._genotypes = {
            str(child.genotype): child.genotype for child in offspring.children.values()
        }
        genotypes, phenotypes = tabu.take_new()
        tally = Tally(
            offspring.created, offspring.genotype_duplicates, offspring.phenotype_duplicates
        )
        self.store.add_generation(
            number, tally, individuals, Tabued(frozenset(genotypes), frozenset(phenotypes))
        )
        yield Progress(number, None, len(individuals))
        yield from self._evaluate(number, offspring.prepared, work, wall)

    def _evaluate(
        self, number: int, batch: Mapping[int, Any], work: float, wall: float
    ) -> Iterator[Progress]:
        """Evaluate what a generation has left; account for the time since ``work`` and ``wall``."""
        finished = False
        try:
            if batch:
                # What it spent is known once it is closed.
                with closing(self.evaluator.evaluate(batch, self.stop)) as evaluations:
                    for ident, evaluation in evaluations:
                        self.store.add_evaluation(ident, evaluation)
                        yield Progress(number, ident, len(batch), evaluation)
                        if self.stop():
                            break
            finished = not self.store.pending(number)
            if not finished:
                self.end = End.STOPPED
        finally:
            # What the search itself did is what this process computed; the rest is waiting.
            phases = replace(
                self.phases(),
                search=time.process_time() - work,
                wall=time.perf_counter() - wall,
            )
            self.store.add_phases(number, phases, finished=finished)

    def _read(self, text: str) -> Genotype:
        """The genotype of a stored text; those of the generation at hand are kept."""
        if text not in self._genotypes:
            self._genotypes[text] = self.variation.subject.read(text)
        return self._genotypes[text]

    def _members(self, number: int) -> list[Member]:
        evaluations = self.store.evaluations(number)
        return [
            self._member(one, evaluations[one.ident])
            for one in self.store.individuals(number)
            if one.ident in evaluations
        ]

    def _member(self, one: Individual, evaluation: Evaluation) -> Member:
        genotype = self._read(one.genotype)
        return Member(
            one.ident,
            genotype,
            math.inf if evaluation.rank is None else evaluation.rank,
            evaluation.selectable,
            evaluation.right,
            math.inf if evaluation.ratio is None else evaluation.ratio,
            evaluation.spread,
            one.parents,
            one.origin,
        )
