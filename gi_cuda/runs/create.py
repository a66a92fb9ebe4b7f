"""Making a run: its folder, its baseline, what it starts from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path

from gi_cuda.backends.compile.code_cache import CodeCache
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.errors import UserError
from gi_cuda.evaluate.baseline import Baseline, establish
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Genotype
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.stored import DATABASE, Plan
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import CaseRole, content_hash, file_hashes
from gi_cuda.store import Store
from gi_cuda.subject import Start, Started, Subject


def default_folder(target_name: str, root: Path = Path("runs")) -> Path:
    """The first ``runs/<target>-<n>`` that is not there yet."""
    number = 1
    while (root / f"{target_name}-{number}").exists():
        number += 1
    return root / f"{target_name}-{number}"


@contextmanager
def create_run(
    subject: Subject,
    folder: Path,
    plan: Plan,
    start: Start | None = None,
    *,
    overwrite: bool = False,
    cache: CodeCache | None = None,
) -> Iterator[Run]:
    """Make a run's folder, establish its baseline, store both.

    The folder appears complete or not at all.

    Args:
        start: what the search starts from, if not from the reference; of a run on PTX, that of its
            subject.
        overwrite: a run that is in the folder makes room; it comes back where this one is not made.
        cache: of compiled code, if there is one.

    Raises:
        UserError: the folder exists, the reference fails its baseline, or the start fails on the
            train cases.
    """
    with _set_aside(folder) if overwrite else nullcontext():
        _check_free(folder)
        first = None if start is None else subject.starting(start)
        with _in_the_making(folder) as making:
            with open_tools(
                subject, making, workers=plan.workers, jobs=plan.jobs, cache=cache
            ) as tools:
                baseline = establish(
                    subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference
                )
                facts = _facts(subject, plan, baseline, tools.backend)
                if start is not None and first is not None:
                    started = _measure_start(tools, start, first, baseline.limit)
                    facts |= {"start": asdict(start), "started": asdict(started)}
            with Store(making / DATABASE, create=True) as store:
                store.put(**facts)
    with open_run(folder, cache) as run:
        yield run


def _measure_start(tools: Tools, start: Start, genotype: Genotype, limit: float) -> Started:
    """Measure a start beside the reference.

    Raises:
        UserError: it is wrong on the train cases.
    """
    replicates = tools.replicates(CaseRole.TRAIN, limit, "start")
    (reading,) = replicates.read([candidate(tools.subject, genotype)])
    if not reading.right:
        raise UserError(
            f"it fails on the train cases: {reading.failure}",
            where=start.name,
            hint="start from another run, or from the reference",
        )
    return Started(start.name, reading.speed_up)


def _check_free(folder: Path) -> None:
    if not folder.exists():
        return
    if (folder / DATABASE).is_file():
        raise UserError(
            "there is a run already",
            where=str(folder),
            hint="resume it (gi-cuda resume), name another (--run), or overwrite it (--force)",
        )
    what = "a folder that is no run" if folder.is_dir() else "a file"
    raise UserError(
        f"there is {what} in the place of the run",
        where=str(folder),
        hint="name another with --run, or remove it",
    )


@contextmanager
def _set_aside(folder: Path) -> Iterator[None]:
    """Move a run out of the way of another of its name; it is moved back where that is not made.

    Raises:
        UserError: the folder is not a run's; nothing else is ever removed.
    """
    if not folder.exists():
        yield
        return
    if not (folder / DATABASE).is_file():
        raise UserError(
            "the folder exists and is not a run, so --force does not remove it", where=str(folder)
        )
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    folder.rename(aside)
    try:
        yield
    finally:
        if folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(folder)


@contextmanager
def _in_the_making(folder: Path) -> Iterator[Path]:
    """A folder that gets its real name at the end; if it comes to none, nothing is left of it."""
    making = folder.parent / f".{folder.name}.{os.getpid()}.making"
    _clear_killed(folder)
    new = [path for path in (making, *making.parents) if not path.exists()]
    try:
        _make(making)
        yield making
        making.rename(folder)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        for path in new[1:]:
            with suppress(OSError):
                path.rmdir()
        raise


def _clear_killed(folder: Path) -> None:
    """Remove what processes left that were killed while they made this run."""
    for left in folder.parent.glob(f".{folder.name}.*.making"):
        process = left.name.split(".")[-2]
        if not process.isdecimal():
            continue
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            shutil.rmtree(left, ignore_errors=True)
        except PermissionError:
            continue  # it lives, and is another user's


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise UserError(
            f"the run's folder cannot be made: {error.strerror}",
            where=str(folder.parent),
            hint="name another place with --run",
        ) from None


def _facts(
    subject: Subject, plan: Plan, baseline: Baseline, backend: OpenBackend
) -> dict[str, object]:
    return {
        "target": str(subject.target.folder),
        "target_hash": content_hash(subject.target),
        "target_files": file_hashes(subject.target),
        "grammar_hash": subject.fingerprint,
        "grammar_files": [str(path) for path in subject.grammar_files],
        "backend": subject.backend,
        "edits": subject.edits,
        "level": subject.level,
        "plan": asdict(plan),
        "baseline": asdict(baseline),
        "device": backend.device(),
        "versions": backend.versions(),
    }
