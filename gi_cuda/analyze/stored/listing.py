"""List the runs in a folder, with the state of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gi_cuda.analyze.finalists.winner import is_validated, stored_winner
from gi_cuda.errors import UserError
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.lock import at_work
from gi_cuda.runs.stored import DATABASE, open_store, stored_plan
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class Standing:
    """State of a run.

    Attributes:
        target: name of the target's folder.
        backend, device: back end and device.
        done, planned: finished and planned generations.
        winner: the winner's speed-up on the held-out cases, if there is a winner.
        best: speed-up of the best individual on the train cases, if one is faster.
        busy: whether a process is working on the run.
        validated: whether the best individuals were validated. Then a run without a winner has no
            individual that holds.
    """

    target: str
    backend: str
    device: str
    done: int
    planned: int
    winner: SpeedUp | None
    best: SpeedUp | None
    busy: bool
    validated: bool

    @property
    def state(self) -> str:
        """State in a few words: "done, not validated"."""
        if self.busy:
            return "at work"
        state = "done" if self.done >= self.planned else "stopped"
        if not self.validated and (self.winner or self.best):
            state += ", not validated"
        elif self.winner is None and self.best is not None:
            state += ", none held on the held-out cases"
        return state


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in a folder.

    Attributes:
        folder: folder of the run.
        when: time of the last change to the run.
        standing: state of the run; an error message if it cannot be read.
    """

    folder: Path
    when: datetime
    standing: Standing | str


def list_runs(folder: Path) -> list[Listed]:
    """List the run in a folder and the runs in its subfolders, by the time of their last change."""
    found = [folder, *folder.iterdir()] if folder.is_dir() else []
    databases = [one / DATABASE for one in found if not one.name.startswith(".")]
    runs = (_listed(path.parent, path) for path in databases if path.is_file())
    return sorted(runs, key=lambda one: (one.when, one.folder))


def _listed(folder: Path, database: Path) -> Listed:
    # Until the run is closed, writes go to SQLite's write-ahead log beside the database.
    files = (database, database.with_name(f"{DATABASE}-wal"))
    when = max(path.stat().st_mtime for path in files if path.exists())
    try:
        with open_store(folder) as store:
            standing: Standing | str = _standing(store, folder)
    except UserError as error:
        standing = error.what
    return Listed(folder, datetime.fromtimestamp(when), standing)


def _standing(store: Store, folder: Path) -> Standing:
    winner = stored_winner(store)
    return Standing(
        Path(store.get("target")).name,
        store.get("backend"),
        store.get("device"),
        sum(one.finished for one in store.generations()),
        stored_plan(store).settings.generations,
        winner.validation.overall if winner else None,
        next(_best(store), None),
        at_work(folder),
        is_validated(store),
    )


def _best(store: Store) -> Iterator[SpeedUp]:
    for _, one in store.best(1):
        if one.ratio and one.low and one.high:
            yield SpeedUp(1 / one.ratio, 1 / one.high, 1 / one.low)
