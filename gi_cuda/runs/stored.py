"""What a run's database says of the search that it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.evaluate.baseline import Baseline
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.runs.folder import restored
from gi_cuda.search import Settings
from gi_cuda.spec import Target, file_hashes, is_unchanged
from gi_cuda.store import Store
from gi_cuda.subject import Start, Subject

DATABASE = "run.db"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do. All of it is stored, so that resuming needs nothing else.

    Attributes:
        preset: name of the strategy.
        settings: its numbers.
        seed: decides every choice of the search.
        workers: measurements at a time.
        jobs: compiler processes at a time.
    """

    preset: str
    settings: Settings
    seed: int
    workers: int
    jobs: int


def stored_subject(store: Store, folder: Path) -> Subject:
    """The subject of a stored run.

    Raises:
        UserError: target or grammar are gone or changed since the run began.
    """
    files = [Path(path) for path in store.get("grammar_files")]
    bnf, scope = files or (None, None)
    subject = open_subject(
        Path(store.get("target")),
        store.get("backend"),
        store.get("level", "source"),
        bnf=bnf,
        scope=scope,
        edits=store.get("edits", "paper"),
        start=stored_start(store),
    )
    if not is_unchanged(subject.target, store.get("target_hash")):
        raise UserError(
            "the target changed since this run began",
            where=_changed(subject.target, store.get("target_files", {})),
            hint=f"put it back as it was, or start a new run; {folder} holds the old results",
        )
    if subject.fingerprint != store.get("grammar_hash"):
        raise UserError(
            "the grammar changed since this run began",
            where=str(folder),
            hint="put the .bnf and .scope files back as they were, or start a new run"
            if not subject.compiled
            else f"{subject.front_end.name} depends on nvcc and on what the first GPU is; start a"
            " new run",
        )
    return subject


def _changed(target: Target, before: Mapping[str, str]) -> str:
    """The files that changed; the folder where the run does not know them.

    Args:
        before: hashes by path; of runs made elsewhere or long ago it may not fit.
    """
    changed = [file for file, now in file_hashes(target).items() if before.get(file, now) != now]
    return ", ".join(changed) or str(target.folder)


def stored_start(store: Store) -> Start | None:
    """What a stored run started from, if that is not the reference."""
    return store.load("start", Start)


def stored_plan(store: Store) -> Plan:
    """What a stored run was to do."""
    return store.require("plan", Plan)


def stored_baseline(store: Store) -> Baseline:
    """The baseline of a stored run."""
    return store.require("baseline", Baseline)


def open_store(folder: Path) -> Store:
    """A run's database alone, for looking at it.

    Raises:
        UserError: there is no run in the folder.
    """
    return Store(restored(folder) / DATABASE)
