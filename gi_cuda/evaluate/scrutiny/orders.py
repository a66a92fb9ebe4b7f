"""In which orders of its threads is the reference right, and how much do its answers differ?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import TrySchedule
from gi_cuda.backends.protocol.schedules import Schedule, Schedules
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.table import open_compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.scrutiny.races import RaceWatch
from gi_cuda.subject import Subject

LIMIT = 5.0
"""Seconds that a launch of the reference may take in another order, before its time is known."""


def standing(
    pool: Pool[int], program: Program, limit: float, kernels: Sequence[str]
) -> dict[str, tuple[str, ...]] | None:
    """The schedules under which the reference's answers are right, each with the kernels that must
    keep the natural order for that; None where the device chooses the order.

    Where the answers are wrong, each kernel is tried by itself.
    """

    def stands(schedule: Schedule, natural: tuple[str, ...]) -> bool | None:
        # One may wait for another block for ever, and take its worker down.
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
    """Under which schedules the reference is to be recorded, so that its runs show how much right
    answers differ: on a device that runs threads as it is told to, they would all be the same.

    Kernels whose threads race keep the natural order: what they give in others is no measure. So do
    all kernels where nobody could find out which these are.

    Args:
        reference: where its outputs are.
    """
    # In some orders it may wait for ever.
    ending = [s for s in Schedule if isinstance(pool.one(TrySchedule(program, LIMIT, s)), bool)]
    if not ending:
        return {}
    racing = tuple(_watch(subject, program, reference).racing())
    return dict.fromkeys(map(str, ending), racing)


def races_of_rejected(subject: Subject, program: Program, reference: Path) -> list[str]:
    """The races of a reference that its oracle rejects, if there is a detector that sees them."""
    return list(map(str, _watch(subject, program, reference).seen_in_reference()))


def _watch(subject: Subject, program: Program, reference: Path) -> RaceWatch:
    session = Session(subject.target, subject.backend, program.cases, reference)
    compiler = open_compiler(subject, 1)
    folder = reference.parent / "build" / "races"
    return RaceWatch(subject, session, compiler, folder, program.cases)
