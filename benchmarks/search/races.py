"""Searches on landscapes: each through the real loop and a real run database, in memory."""

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
    """What one search found.

    Attributes:
        found: after how many evaluations it had found what was planted; None: it had not.
        share: how much of it, as the logarithm of the speed-up, it found in the end.
        curve: after how many evaluations which share was reached first.
    """

    found: int | None
    share: float
    curve: tuple[tuple[int, float], ...]


@cache
def subject(edits: str = "paper") -> Subject:
    """What the landscapes are over, with a set of rule types."""
    return open_subject(TARGET, "host", edits=edits)


def ground(name: str) -> Subject:
    """The space in which something is planted: the same whatever rule types are searched."""
    return subject(GROUNDS.get(name, "paper"))


@cache
def _read(folder: str) -> Recorded:
    return recorded(Path(folder), 0)


def table(folder: str, seed: int) -> Recorded:
    """What a run measured; each seed draws anew what was not measured."""
    return replace(_read(folder), seed=seed)


def race(
    preset: Preset,
    name: str,
    seed: int,
    budget: int,
    edits: str = "paper",
    disturbed: float = 0.0,
) -> Race:
    """Search a landscape until what is planted is found, or a number of evaluations is spent.

    Args:
        name: of the landscape, or the folder of a run whose measurements are one.
        seed: of the search, and of where it is planted.
        edits: the set of rule types that is searched; of a run, its own.
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
