"""Runs a variant over its cases in this very process, for tools that look over its shoulder.

Run as ``python -m gi_cuda.backends.workers.once FILE``, where FILE holds a pickled :class:`Job`. A
sanitizer is loaded into this process, or this process is started by one. Exit status 0: it ran to
its end with answers that the oracle accepts.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.protocol.device import LaunchCrashed, LaunchHung, LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.requests import Program
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS, Session
from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.backends.workers.worker import WorkerContext

WRONG_STATUS = 3
"""Exit status where the oracle does not accept the answers."""

REFUSED_STATUS = 4
"""Exit status where the device does not take the launch."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be run.

    Attributes:
        session: the target and its recorded reference outputs.
        program: a binary with its configuration and cases.
        limit: seconds after which a launch counts as hung.
    """

    session: Session
    program: Program
    limit: float


def run(job: Job) -> int:
    """Run the launches of every case and judge what they wrote; the exit status."""
    context = WorkerContext.open(job.session)
    device = context.device(job.session.target, context.cases, WorkerSlot(sys.stderr.fileno()))
    runner = CaseRunner(device, job.session.target, context.cases, job.session.reference)
    loaded = device.load(job.program.binary)
    for plan in runner.plans(job.program):
        device.prepare(plan)
        device.run(loaded, plan, job.limit)
        verdict = runner.judge(plan)
        if verdict.penalty:
            print(verdict.reason, file=sys.stderr)
            return WRONG_STATUS
    return 0


def main(path: Path) -> int:
    """Run the job in a file; what went wrong is said on standard error."""
    job: Job = pickle.loads(path.read_bytes())
    try:
        return run(job)
    except (LaunchHung, LaunchCrashed, LaunchRefused) as error:
        print(error, file=sys.stderr)
        statuses = {LaunchHung: HUNG_STATUS, LaunchCrashed: CRASHED_STATUS}
        return statuses.get(type(error), REFUSED_STATUS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
