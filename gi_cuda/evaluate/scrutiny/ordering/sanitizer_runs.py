"""Run a sanitizer on a candidate's cases, and collect its findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from gi_cuda.backends import cores
from gi_cuda.backends.job_threads import at_once
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built
from gi_cuda.backends.sanitize import LIMIT, Watched, watch
from gi_cuda.evaluate.candidates import Candidate, build_candidates
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import READERS, SanitizerFinding
from gi_cuda.grammar import Source
from gi_cuda.spec import Target


def findings_of(
    sanitizer: Sanitizer,
    session: Session,
    one: Candidate,
    cases: Sequence[str],
    source: Source,
    folder: Path,
    limit: float = LIMIT,
    processes: int = 0,
) -> tuple[list[SanitizerFinding], str]:
    """Return a sanitizer's findings in a source on some cases, and a message if a run failed.

    Several cases run at a time, if there are enough cores.

    Args:
        source: name and text of the source.
        folder: for binaries.
        limit: time limit of a run, in seconds.
        processes: number of processes at a time; 0: as many as there are cores for.
    """
    built: Built | None = one.binary
    if built is None:
        (built,) = build_candidates(sanitizer.compiler, [one], folder)
    if isinstance(built, BuildFailure):
        return [], f"does not compile for {sanitizer.name}: {built.message}"
    if sanitizer.shared_alone and not has_shared_memory(built, session.target):
        return [], ""
    program = partial(one.program, built)

    def watched(some: Sequence[str]) -> Watched:
        # A process makes all cases of its session, so give it only its share.
        return watch(sanitizer, replace(session, cases=tuple(some)), program(some), limit)

    processes = min(processes or together(), len(cases))
    groups = [cases[first::processes] for first in range(processes)]
    runs = at_once([partial(watched, some) for some in groups])
    found = [one for run in runs for one in READERS[sanitizer.form](run.log, source)]
    return list(dict.fromkeys(found)), next((run.failure for run in runs if run.failure), "")


def has_shared_memory(binary: Binary, target: Target) -> bool:
    """Tell whether a program has shared memory; True if unknown."""
    steps = [step for launch in target.launches for step in launch.steps]
    if binary.lent or any(step.shared.text != "0" for step in steps):
        return True
    return binary.resources.get("shared") != 0


def together() -> int:
    """Return the number of cases that run at a time; a detector needs the memory of several
    workers.
    """
    return max(1, min(4, cores() // 2))
