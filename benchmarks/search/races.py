"""Run searches on landscapes, each through the real loop and a real run database, in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.search.landscapes import FOUND, GROUNDS, PLANTED, planted
from benchmarks.search.recorded import Recorded, recorded
from benchmarks.search.table import TableEvaluator, Truth
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.results.generation import Phases
from gi_cuda.search.loop import Evolution
from gi_cuda.search.preset import Preset
from gi_cuda.store import Store
from gi_cuda.subject import Subject

TARGET = Path(__file__).parent / "target"


@dataclass(frozen=True, slots=True)
class Race:
    """Result of one search.

    Attributes:
        found: number of evaluations until it found the planted improvement; None if it did not.
        share: share of the gain (as a logarithm of the speed-up) found in the end.
        curve: number of evaluations at which each share was first reached.
    """

    found: int | None
    share: float
    curve: tuple[tuple[int, float], ...]


@cache
def subject(edits: str = "paper") -> Subject:
    """Return the subject of the landscapes, with a set of rule types."""
    return open_subject(TARGET, "host", edits=edits)


def ground(name: str) -> Subject:
    """Return the subject with the rule types among which an improvement is planted."""
    return subject(GROUNDS.get(name, "paper"))


@cache
def _read(folder: str) -> Recorded:
    return recorded(Path(folder), 0)


def table(folder: str, seed: int) -> Recorded:
    """Return a run's measurements as a landscape; the seed decides values not measured."""
    return replace(_read(folder), seed=seed)


def race(
    preset: Preset,
    name: str,
    seed: int,
    budget: int,
    edits: str = "paper",
    disturbed: float = 0.0,
) -> Race:
    """Search a landscape until the improvement is found, or a number of evaluations is spent.

    Args:
        name: name of the landscape, or folder of a run whose measurements are one.
        seed: seed of the search, and of the place of the improvement.
        edits: the set of rule types that is searched; for a run, its own.
        disturbed: share of timed runs that something slows down.
    """
    landscape: Truth = (
        planted(subject(edits), name, seed, ground(name)) if name in PLANTED else table(name, seed)
    )
    evaluator = TableEvaluator(landscape, seed, disturbed)
    settings = preset.settings.having(None, budget)
    with Store(Path(":memory:"), create=True) as store:
        search = Evolution(
            store=store,
            evaluator=evaluator,
            phases=Phases,
            strategy=preset.strategy(settings),
            variation=preset.vary(landscape.subject),
            settings=settings,
            seed=seed,
            stop=lambda: evaluator.spent >= budget or evaluator.curve[-1][1] >= FOUND,
        )
        for _ in search.run():
            pass
    return Race(evaluator.reached(FOUND), evaluator.curve[-1][1], tuple(evaluator.curve))
