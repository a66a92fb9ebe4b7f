"""gi-cuda for Python programs: ``gi_cuda.evolve`` and ``gi_cuda.open_run``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gi_cuda import AUTO
from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.analyze.finalists.winner import find_individual, predecessor
from gi_cuda.analyze.stored.records import (
    GenerationRecord,
    IndividualRecord,
    MeasurementRecord,
    RunRecord,
    generation_records,
    individual_records,
    measurement_records,
    readable_subject,
    run_record,
)
from gi_cuda.backends import cores, set_one_thread
from gi_cuda.backends.compile.caching.code_cache import open_cache
from gi_cuda.backends.table import open_backend, resolved
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.runs.create import create_run, default_folder
from gi_cuda.runs.stored import Plan, open_store
from gi_cuda.search import DEFAULT, Preset, Settings, find_preset, named_preset
from gi_cuda.search.loop import Progress

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T", bound=Any)


class Records(tuple[T, ...], Generic[T]):
    """A tuple of records of one kind; each record is a frozen dataclass."""

    __slots__ = ()

    def frame(self) -> DataFrame:
        """Return a data frame with one row per record and one column per field.

        Each key of a mapping has a column of its own, for example ``outcomes.faster``.

        Raises:
            UserError: pandas is not installed.
        """
        try:
            from pandas import json_normalize
        except ImportError:
            raise UserError("frames need pandas", hint="pip install pandas") from None
        return json_normalize([asdict(one) for one in self])


class StoredRun:
    """A stored run, opened for reading; see :func:`open_run`.

    Each method reads the run's database when it is called, so a search may still be writing to it.

    Args:
        folder: the run's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with open_store(folder):
            pass  # it is there, and of a version that can be read

    def record(self, best: int = 5) -> RunRecord:
        """Return the run as ``gi-cuda show --json`` prints it.

        The record holds the device, the plan, the generations, and the winner with its diff.

        Args:
            best: number of the best individuals to include.
        """
        with open_store(self.folder) as store:
            subject, _ = readable_subject(store, self.folder)
            return run_record(store, self.folder, best, subject)

    def generations(self) -> Records[GenerationRecord]:
        """Return the records of all generations, in order."""
        with open_store(self.folder) as store:
            return Records(generation_records(store, store.generations()))

    def individuals(self, generation: int | None = None) -> Records[IndividualRecord]:
        """Return the individuals of one generation, in order; None: of all generations."""
        with open_store(self.folder) as store:
            return Records(individual_records(store, generation))

    def measurements(self) -> Records[MeasurementRecord]:
        """Return every pair of timed runs of every individual, in seconds."""
        with open_store(self.folder) as store:
            return Records(measurement_records(store))

    def diff(self, individual: int) -> str:
        """Return the changes of an individual as a unified diff.

        Raises:
            UserError: there is no individual of this number, or the target is missing or has
                changed since the run.
        """
        with open_store(self.folder) as store:
            found = find_individual(store, self.folder, individual)
            subject, why = readable_subject(store, self.folder)
            if subject is None:
                raise UserError(why, where=str(self.folder))
            return subject.diff(subject.read(found.genotype))


def open_run(path: str | Path) -> StoredRun:
    """Open a stored run for reading.

    Args:
        path: the run's folder.

    Raises:
        UserError: no run is stored there.
    """
    return StoredRun(Path(path))


# Each parameter is an option of the command line; ``seconds`` alone differs from its own.
def evolve(
    target: str | Path,
    run: str | Path | None = None,
    *,
    backend: str = AUTO,
    level: str = "source",
    start: str | Path | None = None,
    preset: str | Preset = DEFAULT,
    settings: Settings | None = None,
    seed: int = 1,
    edits: str | None = None,
    seconds: float | None = None,
    untested: bool = False,
    progress: Callable[[Progress], object] = lambda _: None,
) -> StoredRun:
    """Search, and validate the best on the held-out cases, as ``gi-cuda evolve`` does.

    Args:
        target: its folder, or its ``target.toml``.
        backend: ``host``, ``cuda``, or ``auto``: ``cuda`` where a GPU can be used.
        run: folder for the run; by default ``runs/<target>-<number>``.
        level: what evolves: ``source``, ``ptx`` or ``llvm``.
        start: a run on the same source whose winner to start from, as ``--from`` names it; by
            default the reference.
        preset: its name as ``--preset`` takes it, or an object of your own.
        settings: the numbers of the search; by default the preset's own.
        edits: what may change, as ``--edits`` names it; by default what the preset changes.
        seconds: to search; then it stops cleanly, and validates what it has. Baseline and
            validation come on top, unlike with ``--time``.
        untested: make changes that no case tests, too.
        progress: called after every evaluation and every generation. What it raises ends the
            search, and ``gi-cuda resume`` goes on with it.

    Raises:
        UserError: something about the target, the start, the preset or the back end has to be
            mended first.
    """
    set_one_thread()  # for the processes that it starts
    preset = named_preset(preset)
    chosen = find_preset(preset, "preset")
    begun = None if start is None else predecessor(Path(start), Path(target))
    wanted = edits or chosen.edits
    backend, _ = resolved(backend)
    subject = open_subject(Path(target), backend, level, edits=wanted, start=begun)
    chosen.demand(subject)
    folder = Path(run) if run else default_folder(subject.target.name)
    workers = open_backend(backend).workers(0, cores())
    plan = Plan(preset, settings or chosen.settings, seed, workers, cores(), untested=untested)
    cache = open_cache(_complain)
    with create_run(subject, folder, plan, begun, cache=cache) as opened:
        end = None if seconds is None else time.monotonic() + seconds
        for step in opened.evolution(lambda: end is not None and time.monotonic() >= end).run():
            progress(step)
        select_winner(opened)
    return StoredRun(folder)


def _complain(said: str) -> None:
    print(f"gi-cuda: {said}; going on without it", file=sys.stderr)
