"""Creation of a run: its folder, its baseline and its starting point."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.job_threads import meanwhile
from gi_cuda.backends.leftovers import REMOVE, SETTLE, afterwards
from gi_cuda.backends.protocol.backend import OpenBackend
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.reference.baseline import establish, in_silence
from gi_cuda.evaluate.untested import look_for_untested, untested_changes
from gi_cuda.genome import Genotype, changes_of
from gi_cuda.grammar import Untested
from gi_cuda.runs.folder import beside, put_aside, restored
from gi_cuda.runs.lock import FILE, locked
from gi_cuda.runs.run import Run, open_run
from gi_cuda.runs.siblings import making_siblings, record_siblings
from gi_cuda.runs.stored import (
    DATABASE,
    Plan,
    open_store,
    stored_baseline,
    stored_plan,
    stored_untested,
    where_it_lies,
)
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.spec import CaseRole, content_hash, file_hashes
from gi_cuda.store import Store
from gi_cuda.subject import Start, Started, Subject
from gi_cuda.subject.scratch import commit_words


def default_folder(target_name: str, root: Path = Path("runs")) -> Path:
    """Return the first ``runs/<target>-<n>`` that does not exist yet."""
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
    tell: Callable[[str], None] = in_silence,
    others: Iterable[Path] = (),
) -> Iterator[Run]:
    """Create a run's folder, measure its baseline and store both.

    The folder appears complete or not at all.

    Args:
        start: the winner that the search starts from; None for the reference. In a run on PTX, the
            start of the run's subject.
        overwrite: replace the run that is in the folder, once this one is complete.
        cache: a cache of compiled code.
        tell: receives a message before each step.
        others: runs whose baseline may be reused: the first one with the same target, devices and
            tools is taken.

    Raises:
        UserError: the folder exists; another process works on the run that is in it, or creates a
            run of the same name; the reference fails its baseline; the start fails on the train
            cases or has changes that no case tests.
    """
    with ExitStack() as kept:
        with _in_the_making(folder, overwrite=overwrite) as making:
            tell("making the cases")
            first = None if start is None else subject.starting(start)
            with open_tools(
                subject,
                making,
                workers=plan.workers,
                jobs=plan.jobs,
                cache=cache,
                devices=plan.devices,
            ) as tools:
                begun = time.monotonic()
                # Warm up the compilers now: measuring the baseline leaves most of them idle.
                meanwhile(partial(tools.compiler.warm_up, unmodified(subject).variant(0)))
                facts = _shared(tools, plan, folder, others, tell)
                if facts is None:
                    facts = _established(tools, plan, folder, tell)
                    facts["prepared"] = time.monotonic() - begun
                if start is not None and first is not None:
                    if not plan.untested:
                        _check_tested(start, first, facts["untested"])
                    tell(f"measuring {start.name}")
                    started = _measure_start(tools, start, first, facts["baseline"].limit)
                    facts |= {"start": start, "started": started}
                # Keep the fork server: making the cases again would take as long as before.
                server = tools.pool.release()
                kept.callback(server.close)
            with Store(making / DATABASE, create=True) as store:
                store.put(**{name: _plain(fact) for name, fact in facts.items()})
        with open_run(folder, cache, server) as run:
            yield run


def _established(
    tools: Tools, plan: Plan, folder: Path, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure the baseline of a new run and return all facts that its database stores."""
    subject, compiler, pool = tools.subject, tools.compiler, tools.pool
    place = tools.scratch("baseline")
    with making_siblings(tools) as others:
        baseline = establish(subject, compiler, pool, place, tools.reference, tell)
        tell("running the reference on cases like the held-out ones")
        baseline = replace(baseline, siblings=record_siblings(others, baseline))
    plan = _on(tools, plan)
    untested = look_for_untested(subject, compiler, pool, tools.scratch("untested"), tell)
    facts = _facts(subject, plan, tools.backend, folder)
    return {**facts, "baseline": baseline, "untested": untested}


def _shared(
    tools: Tools,
    plan: Plan,
    folder: Path,
    others: Iterable[Path],
    tell: Callable[[str], None],
) -> dict[str, Any] | None:
    """Return the facts of a new run that reuses the baseline of another run.

    Resuming a run reuses its old baseline in the same way. None if no other run has the same
    target, devices and tools.
    """
    plan = _on(tools, plan)
    facts = _facts(tools.subject, plan, tools.backend, folder)
    for other in others:
        with open_store(other) as store:
            theirs = stored_plan(store)
            alike = all(store.get(name) == facts[name] for name in _SAME)
            if alike and (theirs.workers, theirs.devices) == (plan.workers, plan.devices):
                tell(f"taking the baseline of {other}")
                shutil.copytree(other / tools.reference.name, tools.reference)
                shared = stored_baseline(store), stored_untested(store), store.get("prepared")
                return facts | dict(zip(_GIVEN, shared, strict=True))
    return None


_SAME: Final = ("target_hash", "grammar_hash", "backend", "edits", "level", "device", "versions")
"""Stored facts that have to be equal for a baseline to be reused, besides the devices and the
number of workers."""

_GIVEN: Final = ("baseline", "untested", "prepared")
"""Stored facts that are copied from the other run when its baseline is reused."""


def _on(tools: Tools, plan: Plan) -> Plan:
    """Return the plan with the list of measuring devices, if there are several devices."""
    return replace(plan, devices=tuple(tools.pool.devices)) if tools.backend.devices[1:] else plan


def _plain(fact: Any) -> Any:
    return asdict(fact) if is_dataclass(fact) and not isinstance(fact, type) else fact


def _check_tested(start: Start, genotype: Genotype, untested: Untested) -> None:
    """Refuse a start that has changes which no case tests.

    Raises:
        UserError: it has at least one of them.
    """
    for change, why in untested_changes(untested, changes_of(genotype)).items():
        raise UserError(
            f"no case tests one of its changes, {change}: {why}",
            where=start.name,
            hint="add a case that does, start from another run, or give --untested",
        )


def _measure_start(tools: Tools, start: Start, genotype: Genotype, limit: float) -> Started:
    """Measure the speedup of a start over the reference.

    Raises:
        UserError: the start is wrong on the train cases.
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


@contextmanager
def _in_the_making(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to the run's folder on success.

    On failure the temporary folder is removed and whatever was in the run's place stays as it was.

    Raises:
        UserError: the place is taken and may not be overwritten; another process works on the run
            that is there, or creates a run of the same name; or the place is not writable.
    """
    making, parent = beside(folder, "making"), folder.absolute().parent
    new = [path for path in (parent, *parent.parents) if not path.exists()]
    try:
        with ExitStack() as stack:
            if there := restored(folder).exists():
                _check_room(folder, overwrite=overwrite)
                stack.enter_context(locked(folder))
                shutil.rmtree(put_aside(folder), ignore_errors=True)
            _make(making, folder)
            lock = stack.enter_context(locked(making, folder))
            stack.enter_context(afterwards(REMOVE, making, holding=[lock]))
            _clear(making)
            yield making
            if not there and folder.exists():
                _check_room(folder, overwrite=False)
            _put(making, folder)
    finally:
        for path in new:
            with suppress(OSError):  # the folder is not empty
                path.rmdir()


def _check_room(folder: Path, *, overwrite: bool) -> None:
    """Refuse a place that is taken.

    Raises:
        UserError: there is a run and `overwrite` is False, or there is a file or folder that is not
            a run.
    """
    if (folder / DATABASE).is_file():
        if overwrite:
            return
        raise UserError(
            "there is a run already",
            where=str(folder),
            hint="resume it (gi-cuda resume), name another (--run), or overwrite it (--force)",
        )
    if overwrite:
        raise UserError(
            "it exists and is not a run, so --force does not remove it", where=str(folder)
        )
    what = "a folder that is no run" if folder.is_dir() else "a file"
    raise UserError(
        f"there is {what} in the place of the run",
        where=str(folder),
        hint="name another with --run, or remove it",
    )


def _put(making: Path, folder: Path) -> None:
    """Rename a finished run to its final name; a run that has the name is removed."""
    if not folder.exists():
        making.rename(folder)
        return
    aside = put_aside(folder)
    with afterwards(SETTLE, folder, aside):
        folder.rename(aside)
        making.rename(folder)


def _clear(folder: Path) -> None:
    """Remove the files that a killed process left in the temporary folder."""
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        elif left.name != FILE:
            left.unlink()


def _make(making: Path, folder: Path) -> None:
    try:
        making.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot create the run folder: {error.strerror}",
            where=str(folder),
            hint="choose another one with --run",
        ) from None


def _facts(subject: Subject, plan: Plan, backend: OpenBackend, folder: Path) -> dict[str, Any]:
    return {
        **where_it_lies(subject.target.folder, subject.grammar_files, folder),
        "target_hash": content_hash(subject.target),
        "target_files": file_hashes(subject.target),
        "grammar_hash": subject.fingerprint,
        "ideas": [asdict(one) for one in subject.ideas],
        "backend": subject.backend,
        "edits": subject.edits,
        "level": subject.level,
        "plan": plan,
        "device": backend.device(),
        "bandwidth": backend.bandwidth(),
        "versions": backend.versions(),
        "commit": commit_words(subject.target.source.parent),
    }
