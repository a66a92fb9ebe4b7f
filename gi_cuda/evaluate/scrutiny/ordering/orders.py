"""Thread orders in which the reference is right, and the spread of its outputs over thread
orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import TrySchedule
from gi_cuda.backends.protocol.schedules import Schedule, Schedules
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.scrutiny.ordering.races import RaceWatch
from gi_cuda.subject import Subject

LIMIT = 5.0
"""Time limit of a launch of the reference in another order, in seconds, before its time is
known."""


def standing(
    pool: Pool[int], program: Program, limit: float, kernels: Sequence[str]
) -> dict[str, tuple[str, ...]] | None:
    """Return the schedules under which the reference is right, with kernels that keep natural
    order.

    If outputs are wrong under a schedule, each kernel is tried alone, and those that fail keep the
    natural order. None if the device chooses the order.
    """

    def stands(schedule: Schedule, natural: tuple[str, ...]) -> bool | None:
        # A block may wait for another one forever, so the worker may be killed.
        answer = pool.one(TrySchedule(program, limit, schedule, natural))
        return answer if answer is None else answer is True

    found: dict[str, tuple[str, ...]] = {}
    for schedule in Schedule:
        whole = stands(schedule, ())
        if whole is None:
            return None
        natural = [
            kernel
            for kernel in kernels
            if not whole and not stands(schedule, tuple(k for k in kernels if k != kernel))
        ]
        if whole or (len(natural) < len(kernels) and stands(schedule, tuple(natural))):
            found[schedule] = tuple(natural)
    return found


def to_record(subject: Subject, pool: Pool[int], program: Program, reference: Path) -> Schedules:
    """Return the schedules under which to record the reference, to show the spread of right
    outputs.

    On a device that runs threads in a given order, all runs in the natural order would be equal.
    Kernels with data races keep the natural order, because their outputs in other orders may be
    wrong. So do all kernels if it is unknown which ones have races.

    Args:
        reference: folder with the reference's outputs.
    """
    # In some orders the reference may wait forever.
    ending = [s for s in Schedule if isinstance(pool.one(TrySchedule(program, LIMIT, s)), bool)]
    if not ending:
        return {}
    racing = tuple(_watch(subject, program, reference).racing())
    return dict.fromkeys(map(str, ending), racing)


def races_of_rejected(subject: Subject, program: Program, reference: Path) -> list[str]:
    """Return the races of a reference that its oracle rejects, as far as a detector sees them."""
    return list(map(str, _watch(subject, program, reference).seen_in_reference()))


def _watch(subject: Subject, program: Program, reference: Path) -> RaceWatch:
    session = Session(subject.target, subject.backend, program.cases, reference)
    compiler = open_compiler(subject, 1)
    folder = reference.parent / "build" / "races"
    return RaceWatch(subject, session, compiler, folder, program.cases)
