"""Facts about a search, read from and written to its run database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from gi_cuda.backends.table import ALL
from gi_cuda.errors import RUN_FILE, UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.reference.baseline import Baseline
from gi_cuda.grammar import Untested
from gi_cuda.results.kinds import Objective
from gi_cuda.runs.folder import restored
from gi_cuda.runs.lock import locked
from gi_cuda.search import Settings
from gi_cuda.spec import Target, file_hashes, is_unchanged, load_target
from gi_cuda.spec.toml_file.load import FILE_NAME
from gi_cuda.store import Store
from gi_cuda.subject import Idea, Start, Subject

DATABASE = RUN_FILE


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run. All of them are stored, so resuming needs nothing else.

    Attributes:
        preset: name of the strategy.
        settings: parameters of the strategy.
        seed: of the random numbers that make every choice of the search.
        workers: measurements at a time.
        jobs: compiler processes at a time.
        devices: numbers of the measuring devices; empty: all devices of one kind.
        untested: whether changes that no case tests are made as well.
        objective: how results of several kinds of devices are combined.
    """

    preset: str
    settings: Settings
    seed: int
    workers: int
    jobs: int
    devices: tuple[int, ...] = ALL
    untested: bool = False
    objective: Objective = Objective.EACH


def stored_subject(store: Store, folder: Path) -> Subject:
    """Return the subject of a stored run.

    Raises:
        UserError: the target or the grammar is gone or changed since the run began.
    """
    bnf, scope = stored_grammar_files(store, folder) or (None, None)
    subject = open_subject(
        stored_target(store, folder),
        store.get("backend"),
        store.get("level", "source"),
        bnf=bnf,
        scope=scope,
        edits=store.get("edits", "paper"),
        start=stored_start(store),
    ).having(stored_ideas(store))
    if not is_unchanged(subject.target, store.get("target_hash")):
        raise UserError(
            f"the target changed since this run began{_when(subject.target)}",
            where=_changed(subject.target, store.get("target_files", {})),
            hint="put the file back, or start a new run; to see the old results:"
            f" gi-cuda show {folder}",
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
    return replace(subject, untested=left_alone(store))


def stored_ideas(store: Store) -> tuple[Idea, ...]:
    """Return the external patches that a stored run's search may take hunks from."""
    return tuple(store.load("ideas", list[Idea]) or ())


def keep_ideas(store: Store, subject: Subject) -> None:
    """Store a subject's ideas, and the hash of its grammar, which contains them."""
    store.put(ideas=[asdict(one) for one in subject.ideas], grammar_hash=subject.fingerprint)


def _when(target: Target) -> str:
    """Return the time of the last change to a file of the target, in words."""
    times = [os.stat(file).st_mtime for file in file_hashes(target) if os.path.exists(file)]
    return f" (written {datetime.fromtimestamp(max(times)):%Y-%m-%d %H:%M})" if times else ""


def _changed(target: Target, before: Mapping[str, str]) -> str:
    """Return the files that changed, or the target's folder if none is known to have changed.

    Args:
        before: hashes by path; a run from another machine or an older version may not have them.
    """
    changed = [file for file, now in file_hashes(target).items() if before.get(file, now) != now]
    return ", ".join(changed) or str(target.folder)


def where_it_lies(target: Path, grammar_files: Iterable[Path], folder: Path) -> dict[str, object]:
    """Return the paths of a run's target and grammar files, as they are stored.

    Each path is stored as given and relative to the run's folder, so that all of them can be moved
    together.

    Args:
        target: the target's folder.
        folder: the run's folder.
    """
    files = [str(path) for path in grammar_files]
    return {
        "target": str(target),
        "target_beside": _from(folder, target),
        "grammar_files": files,
        "grammar_beside": [_from(folder, path) for path in files],
    }


def _from(folder: Path, path: Path | str) -> str:
    return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


def stored_target(store: Store, folder: Path) -> Path:
    """Return the folder of a stored run's target.

    Candidates are the stored path and the stored path relative to the run. The first unchanged
    target is taken, else the first that exists.

    Raises:
        UserError: neither exists.
    """
    named, beside = Path(store.get("target")), store.get("target_beside")
    places = [named, Path(os.path.realpath(folder), beside).resolve()] if beside else [named]
    there = [one for one in places if (one / FILE_NAME).is_file()]
    if not there:
        raise UserError(
            "there is no target here any more",
            where=str(named),
            hint=f"say where it is now: gi-cuda show {folder} --target FOLDER",
        )
    return next((one for one in there if _is_as_it_was(store, one)), there[0])


def _is_as_it_was(store: Store, target: Path) -> bool:
    try:
        return is_unchanged(load_target(target), store.get("target_hash"))
    except UserError:
        return False


def stored_grammar_files(store: Store, folder: Path) -> list[Path]:
    """Return the files that a stored run's grammar was read from; empty if it was converted.

    A file that is not at its stored path is looked for relative to the run.
    """
    named = store.get("grammar_files")
    beside = store.get("grammar_beside") or named
    real = os.path.realpath(folder)
    both = ((Path(one), Path(real, other)) for one, other in zip(named, beside, strict=True))
    return [other if other.is_file() and not one.is_file() else one for one, other in both]


def move_target(folder: Path, target: Path) -> None:
    """Store a new path for the target of a run.

    Raises:
        UserError: there is no target, it is another run's, or it has changed.
    """
    with open_store(folder) as store, locked(folder):
        new = load_target(target)
        if not is_unchanged(new, store.get("target_hash")):
            raise UserError(
                "this is not the run's target, or it changed since the run began",
                where=str(target),
                hint=f"the run's was {store.get('target')}",
            )
        old, files = Path(store.get("target")), stored_grammar_files(store, folder)
        moved = [
            new.folder / one.relative_to(old)
            if one.is_relative_to(old) and not one.is_file()
            else one
            for one in files
        ]
        store.put(**where_it_lies(new.folder, moved, folder))


def stored_start(store: Store) -> Start | None:
    """Return the start of a stored run; None if it started from the reference."""
    return store.load("start", Start)


def stored_untested(store: Store) -> Untested | None:
    """Return the code that no case of a stored run tests; None in runs that did not look for it."""
    return store.load("untested", Untested)


def left_alone(store: Store) -> Untested:
    """Return the code that a stored run's search does not mutate because no case tests it.

    Empty if the run was started with ``--untested``.
    """
    plan = store.load("plan", Plan)
    found = None if plan is None or plan.untested else stored_untested(store)
    return found or Untested()


def stored_plan(store: Store) -> Plan:
    """Return the plan of a stored run."""
    return store.require("plan", Plan)


def stored_baseline(store: Store) -> Baseline:
    """Return the baseline of a stored run."""
    return store.require("baseline", Baseline)


def open_store(folder: Path) -> Store:
    """Open a run's database without locking the run, for reading.

    Raises:
        UserError: there is no run in the folder.
    """
    return Store(restored(folder) / DATABASE)
