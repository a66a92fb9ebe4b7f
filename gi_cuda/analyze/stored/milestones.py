"""Effort and progress of a stored search after each generation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gi_cuda.runs.stored import stored_plan
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class Milestone:
    """Progress of a search at the end of a generation.

    If generations overlap, the end is the time at which the next generation began.

    Attributes:
        evaluations: number of evaluations until then.
        seconds: wall time until then.
        speed_up: lower end of the 95 % interval of the best individual's speed-up on the train
            cases; None while no individual was faster.
    """

    evaluations: int
    seconds: float
    speed_up: float | None


@dataclass(frozen=True, slots=True)
class Search:
    """Effort and progress of a run.

    Attributes:
        kind: preset, edits, generations and population in words. Runs of one kind differ only in
            their seeds.
        seed: seed of the run.
        milestones: progress after each generation.
    """

    kind: str
    seed: int
    milestones: tuple[Milestone, ...]


def search_of(store: Store) -> Search:
    """Return the effort and progress of a stored search."""
    plan, level = stored_plan(store), store.get("level", "source")
    edits = store.get("edits", "paper") if level == "source" else level.upper()
    size = f"{plan.settings.generations} generations of {plan.settings.population}"
    kind = f"{plan.preset}, {edits} edits, {size}"
    return Search(kind, plan.seed, tuple(milestones(store)))


def milestones(store: Store) -> Iterator[Milestone]:
    """Yield the progress of a stored search at the end of each generation."""
    cohorts, seconds = 0, 0.0
    for generation in store.generations():
        cohorts += generation.cohorts
        seconds += generation.phases.wall
        evaluations, best = store.reached(cohorts)
        yield Milestone(evaluations, seconds, 1 / best if best else None)
