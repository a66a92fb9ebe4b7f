"""The evolution loop. All of its state is in the run database, so it can stop and resume anywhere.

Individuals are bred in cohorts. Usually a cohort is a generation, and is bred once the generation
before is evaluated. With several cohorts per generation the search is asynchronous: the next cohort
is bred as soon as enough individuals are evaluated to make room for it. Then neither compilers nor
devices wait for the last individuals of a generation, which is only a unit of counting.

A cohort depends on the seed, on its number, and on the individuals that were evaluated when it was
bred. The database stores with each evaluation the number of cohorts that had been bred before it
arrived.
"""

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
from gi_cuda.search.breeding import FitnessEvaluator, Offspring, Tabu, breed
from gi_cuda.search.course import Cohort, Course
from gi_cuda.search.history import History
from gi_cuda.search.preset import Settings, Strategy
from gi_cuda.search.recipes import Member, Variation
from gi_cuda.store import Store, Tabued


class End(StrEnum):
    """The reason why a search ended."""

    COMPLETE = "all generations are done"
    STOPPED = "stopped"
    USED_UP = "the space is used up: every variant that can be made has been tried"


@dataclass(frozen=True, slots=True)
class Progress:
    """An event of a search: a finished evaluation or, if ``ident`` is None, a new cohort.

    ``size`` is the number of individuals of the generation that are to be evaluated.
    """

    generation: int
    ident: int | None
    size: int
    evaluation: Evaluation | None = None


@dataclass(slots=True)
class Evolution:
    """A search over a run database.

    Attributes:
        store: the run database, which is also read on resuming.
        evaluator: prepares and evaluates individuals.
        phases: returns the evaluator's time since the last call, by phase.
        strategy, variation, settings: the search itself.
        seed: together with the results, it determines every decision of the search.
        stop: called between evaluations and, from another thread, while there are none. If it
            returns True, the search ends.
        end: reason why the search ended; None before.
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
    _course: Course = field(init=False)
    _tabu: Tabu = field(init=False)
    _history: History = field(init=False)
    _genotypes: dict[int, Genotype] = field(default_factory=dict)
    _news: list[Progress] = field(default_factory=list)
    _since: tuple[float, float] = (0.0, 0.0)

    def run(self) -> Iterator[Progress]:
        """Run the search until it is complete or stopped; yield its events."""
        batch = self._open()
        try:
            while self.end is None:
                if not batch and self._course.next and self.stop():
                    self.end = End.STOPPED
                elif batch := batch | self._due():
                    yield from self._evaluate(batch)
                    batch = {}
                    self.end = End.STOPPED if self._course.under_way else None
                else:
                    self.end = End.USED_UP if self._course.barren else End.COMPLETE
        finally:
            self._account()

    def _open(self) -> dict[int, Any]:
        """Read the progress of the search; return the individuals that are bred but not
        evaluated.
        """
        self._since = time.process_time(), time.perf_counter()
        generations, pending = self.store.generations(), self.store.pending()
        self._course = Course(self.settings, generations, pending)
        tabued = self.store.tabu()
        self._tabu = Tabu(tabued.genotypes, tabued.phenotypes)
        if not generations:
            self._forbid_reference()
        self._history = History(self.variation, self.seed, self._tabu.genotypes, self._members)
        self._genotypes = {one.ident: self._read(one) for one in pending}
        return dict(self.evaluator.prepare(self._genotypes)) if pending else {}

    def _forbid_reference(self) -> None:
        """Add the reference to the tabu list, both genotype and phenotype."""
        original = self.variation.original
        self._tabu.add_genotype(self.variation.subject.key(original))
        phenotype = self.evaluator.prepare({0: original})[0].key
        if phenotype is not None:
            self._tabu.add_phenotype(phenotype)

    def _due(self) -> dict[int, Any]:
        """Breed all cohorts that there is room for; return the new individuals."""
        made: dict[int, Any] = {}
        while cohort := self._course.due:
            made |= self._bred(cohort)
        return made

    def _more(self) -> dict[int, Any]:
        """Breed further cohorts while others are evaluated; nothing if the search is to end."""
        return {} if self.stop() else self._due()

    def _bred(self, cohort: Cohort) -> Mapping[int, Any]:
        if cohort.generation > self._course.newest >= 0:
            self._account()
        rng = random.Random(f"{self.seed}/{cohort.number}")
        self._history.bred = cohort.number
        recipes = self.strategy.recipes(self._history, rng)[: cohort.places]
        offspring = breed(
            recipes,
            self.variation,
            self.evaluator,
            self._tabu,
            self.settings,
            rng,
            first=self.store.next_ident(),
        )
        if not offspring.children:
            # Undo the attempt: it is repeated after the next evaluation, if there is one.
            self._tabu.drop_new()
            self._course.barren = True
            return {}
        self._enter(cohort, offspring)
        return offspring.prepared

    def _enter(self, cohort: Cohort, offspring: Offspring[Any]) -> None:
        """Store a cohort that was bred."""
        individuals = [
            Individual(
                ident,
                cohort.generation,
                str(child.genotype),
                child.key,
                offspring.prepared[ident].key,
                child.origin,
                child.parents,
            )
            for ident, child in offspring.children.items()
        ]
        genotypes, phenotypes = self._tabu.take_new()
        tally = Tally(
            offspring.created, offspring.genotype_duplicates, offspring.phenotype_duplicates
        )
        tabued = Tabued(frozenset(genotypes), frozenset(phenotypes))
        self.store.add_generation(cohort.generation, tally, individuals, tabued)
        kept = {ident: self._genotypes[ident] for ident in self._course.under_way}
        self._genotypes = kept | {i: child.genotype for i, child in offspring.children.items()}
        self._course.begin(cohort, individuals)
        size = self._course.size(cohort.generation)
        self._news.append(Progress(cohort.generation, None, size))

    def _evaluate(self, batch: Mapping[int, Any]) -> Iterator[Progress]:
        """Evaluate a batch, and all cohorts that are bred meanwhile."""
        yield from self._told()
        # The evaluator's phases are complete only after it is closed.
        with closing(self.evaluator.evaluate(batch, self.stop, self._more)) as evaluations:
            for ident, evaluation in evaluations:
                self.store.add_evaluation(ident, evaluation)
                number = self._course.end(ident)
                yield from self._told()
                yield Progress(number, ident, self._course.size(number), evaluation)

    def _told(self) -> Iterator[Progress]:
        """Yield the events of breeding since the last call."""
        news, self._news = self._news, []
        yield from news

    def _account(self) -> None:
        """Add the time since the last call to the newest generation."""
        work, wall = self._since
        self._since = time.process_time(), time.perf_counter()
        # The search's own time is the CPU time of this process; the rest is waiting.
        phases = replace(self.phases(), search=self._since[0] - work, wall=self._since[1] - wall)
        newest = self._course.newest
        whole = not self._course.left or self.end is End.USED_UP
        finished = whole and newest not in self._course.under_way.values()
        self.store.add_phases(newest, phases, finished=finished)

    def _read(self, one: Individual) -> Genotype:
        """Return an individual's genotype; that of a recent individual is cached."""
        known = self._genotypes.get(one.ident)
        return self.variation.subject.read(one.genotype) if known is None else known

    def _members(self, number: int) -> list[Member]:
        """Return the individuals that arrived after a cohort was bred and before the next one."""
        return [self._member(*one) for one in self.store.came(number + 1)]

    def _member(self, one: Individual, evaluation: Evaluation) -> Member:
        return Member(
            one.ident,
            self._read(one),
            math.inf if evaluation.rank is None else evaluation.rank,
            evaluation.selectable,
            evaluation.right,
            math.inf if evaluation.ratio is None else evaluation.ratio,
            evaluation.spread,
            one.parents,
            one.origin,
            evaluation.resources,
        )
