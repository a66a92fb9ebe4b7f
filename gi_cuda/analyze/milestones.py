"""What a stored search spent, and how far it was after each generation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gi_cuda.runs.stored import stored_plan
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class Milestone:
    """How far a search was at the end of a generation: where generations overlap, when the next one
    was begun.

    Attributes:
        evaluations: finished until then.
        seconds: of wall time until then.
        speed_up: what the best individual surely reached on the train cases, the lower end of its
            95 % interval; None while none was faster.
    """

    evaluations: int
    seconds: float
    speed_up: float | None


@dataclass(frozen=True, slots=True)
class Search:
    """What a run spent, and what it found for that.

    Attributes:
        kind: preset, edits, generations and population; runs of one kind differ in their seeds.
        seed: its own.
        milestones: one for each generation.
    """

    kind: str
    seed: int
    milestones: tuple[Milestone, ...]


def search_of(store: Store) -> Search:
    """What a stored search spent."""
    plan, level = stored_plan(store), store.get("level", "source")
    edits = store.get("edits", "paper") if level == "source" else level.upper()
    size = f"{plan.settings.generations} generations of {plan.settings.population}"
    kind = f"{plan.preset}, {edits} edits, {size}"
    return Search(kind, plan.seed, tuple(milestones(store)))


def milestones(store: Store) -> Iterator[Milestone]:
    """How far a stored search was at the end of each of its generations."""
    cohorts, seconds = 0, 0.0
    for generation in store.generations():
        cohorts += generation.cohorts
        seconds += generation.phases.wall
        evaluations, best = store.reached(cohorts)
        yield Milestone(evaluations, seconds, 1 / best if best else None)
