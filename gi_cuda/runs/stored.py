"""What a run's database says of the search that it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from gi_cuda.backends.table import ALL
from gi_cuda.errors import RUN_FILE, UserError
from gi_cuda.evaluate.baseline import Baseline
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.grammar import Untested
from gi_cuda.results.kinds import Objective
from gi_cuda.runs.folder import restored
from gi_cuda.runs.lock import locked
from gi_cuda.search import Settings
from gi_cuda.spec import Target, file_hashes, is_unchanged, load_target
from gi_cuda.spec.load import FILE_NAME
from gi_cuda.store import Store
from gi_cuda.subject import Idea, Start, Subject

DATABASE = RUN_FILE


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do. All of it is stored, so that resuming needs nothing else.

    Attributes:
        preset: name of the strategy.
        settings: its numbers.
        seed: decides every choice of the search.
        workers: measurements at a time.
        jobs: compiler processes at a time.
        devices: the numbers of those that measure; none: all of one kind.
        untested: whether changes that no case tests are made as well.
        objective: what it is for, of several kinds of devices.
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
    """The subject of a stored run.

    Raises:
        UserError: target or grammar are gone or changed since the run began.
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
    """The patches of others that a stored run's search may take from."""
    return tuple(store.load("ideas", list[Idea]) or ())


def keep_ideas(store: Store, subject: Subject) -> None:
    """Remember a subject's ideas, with the grammar that they make."""
    store.put(ideas=[asdict(one) for one in subject.ideas], grammar_hash=subject.fingerprint)


def _when(target: Target) -> str:
    """When a file of a target was written last, in words."""
    times = [os.stat(file).st_mtime for file in file_hashes(target) if os.path.exists(file)]
    return f" (written {datetime.fromtimestamp(max(times)):%Y-%m-%d %H:%M})" if times else ""


def _changed(target: Target, before: Mapping[str, str]) -> str:
    """The files that changed; the folder where the run does not know them.

    Args:
        before: hashes by path; of runs made elsewhere or long ago it may not fit.
    """
    changed = [file for file, now in file_hashes(target).items() if before.get(file, now) != now]
    return ", ".join(changed) or str(target.folder)


def where_it_lies(target: Path, grammar_files: Iterable[Path], folder: Path) -> dict[str, object]:
    """What is stored of where a run's files lie: as they are named, and as seen from the run, for
    when all are moved together.

    Args:
        target: the target's folder.
        folder: the run's.
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
    """The folder of a stored run's target: the one that was named, or the one that lies to the run
    as that did; the first that is as it was.

    Raises:
        UserError: neither is there.
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
    """The files that a stored run's grammar was read from, if it was; found as the target is."""
    named = store.get("grammar_files")
    beside = store.get("grammar_beside") or named
    real = os.path.realpath(folder)
    both = ((Path(one), Path(real, other)) for one, other in zip(named, beside, strict=True))
    return [other if other.is_file() and not one.is_file() else one for one, other in both]


def move_target(folder: Path, target: Path) -> None:
    """From now on a stored run's target is in another place.

    Raises:
        UserError: there is no target, or it is not the run's, or has changed.
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
    """What a stored run started from, if that is not the reference."""
    return store.load("start", Start)


def stored_untested(store: Store) -> Untested | None:
    """What no case of a stored run tests; None in runs of before that was looked for."""
    return store.load("untested", Untested)


def left_alone(store: Store) -> Untested:
    """What a stored run's search leaves alone: that, unless it was asked not to."""
    plan = store.load("plan", Plan)
    found = None if plan is None or plan.untested else stored_untested(store)
    return found or Untested()


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
