"""Runs a variant over its cases in this very process, for tools that look over its shoulder.

Run as ``python -m gi_cuda.execute.once FILE``, where FILE holds a pickled :class:`Errand`. A
sanitizer is loaded into this process, or this process is started by one. Exit status 0: it ran to
its end with answers that the oracle accepts.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.execute.device import LaunchCrashed, LaunchHung, LaunchRefused
from gi_cuda.execute.measure import Bench
from gi_cuda.execute.model import Program
from gi_cuda.execute.session import CRASHED_STATUS, HUNG_STATUS, Session
from gi_cuda.execute.turns import Place
from gi_cuda.execute.worker import Workshop

WRONG_STATUS = 3
"""Exit status where the oracle does not accept the answers."""

REFUSED_STATUS = 4
"""Exit status where the device does not take the launch."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be run.

    Attributes:
        session: the target and its recorded reference outputs.
        program: a binary with its configuration and cases.
        limit: seconds after which a launch counts as hung.
    """

    session: Session
    program: Program
    limit: float


def run(errand: Errand) -> int:
    """Run the launches of every case and judge what they wrote; the exit status."""
    workshop = Workshop.open(errand.session)
    device = workshop.device(errand.session.target, workshop.cases, Place(sys.stderr.fileno()))
    bench = Bench(device, errand.session.target, workshop.cases, errand.session.reference)
    loaded = device.load(errand.program.binary)
    for plan in bench.plans(errand.program):
        device.prepare(plan)
        device.run(loaded, plan, errand.limit)
        verdict = bench.judge(plan)
        if verdict.penalty:
            print(verdict.reason, file=sys.stderr)
            return WRONG_STATUS
    return 0


def main(path: Path) -> int:
    """Run the errand in a file; what went wrong is said on standard error."""
    errand: Errand = pickle.loads(path.read_bytes())
    try:
        return run(errand)
    except (LaunchHung, LaunchCrashed, LaunchRefused) as error:
        print(error, file=sys.stderr)
        statuses = {LaunchHung: HUNG_STATUS, LaunchCrashed: CRASHED_STATUS}
        return statuses.get(type(error), REFUSED_STATUS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
