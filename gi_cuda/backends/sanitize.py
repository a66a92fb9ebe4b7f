"""Run a program on its cases under a sanitizer.

Each run is a process of its own, and nothing is timed. Either the process runs this module as a
program, with the path of a pickled :class:`Job` as argument. Or, if the sanitizer needs no command
around the program, the process is forked from one that has this module loaded. If all launches end
with outputs that the oracle accepts, the process makes a file ``right`` beside the job's file.
Outputs of a sample of blocks are not judged.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gi_cuda.backends import ONE_THREAD
from gi_cuda.backends.processes import Process
from gi_cuda.backends.protocol.backend import Sanitizer, WatchedCommand
from gi_cuda.backends.protocol.device import LaunchCrashed, LaunchHung, LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS, Session
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.backends.workers.fork_server import GOING, with_all_loaded
from gi_cuda.backends.workers.worker import WorkerContext

LIMIT = 300.0
"""Default limit of a watched run in seconds, for each launch and for the whole process."""


RIGHT = "right"
"""Name of the file that reports success."""

WRONG_STATUS = 3
"""Exit status if the oracle rejects the outputs."""

REFUSED_STATUS = 4
"""Exit status if the device refuses the launch."""


@dataclass(frozen=True, slots=True)
class Job:
    """A program to run under a sanitizer.

    Attributes:
        session: the target and its recorded reference outputs.
        program: a binary with its configuration and cases.
        limit: seconds after which a launch counts as hung.
    """

    session: Session
    program: Program
    limit: float


@dataclass(frozen=True, slots=True)
class Watched:
    """The result of one run under a sanitizer.

    Attributes:
        log: the sanitizer's report.
        failure: the reason if the run failed; else "".
    """

    log: str
    failure: str


def watch(
    sanitizer: Sanitizer, session: Session, program: Program, limit: float = LIMIT
) -> Watched:
    """Run a program, compiled by the sanitizer's compiler, on its cases.

    Args:
        limit: seconds that the run may take.
    """
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        file, log = Path(scratch) / "job", Path(scratch) / "log"
        file.write_bytes(pickle.dumps(Job(session, program, limit)))
        if sanitizer.command is None:
            status, stderr = _forked(session, file, limit)
        else:
            status, stderr = _started(sanitizer.command, session, file, log, limit)
        said = f"not at its end after {limit:g} s" if status is None else stderr.strip()
        # The compilers' sanitizers put the process's number behind the name.
        logs = sorted(Path(scratch).glob("log*"))
        texts = [path.read_text("utf-8", errors="replace") for path in logs]
        last = said.rpartition("\n")[2]
        # After success, messages of the ending interpreter are not the program's.
        failure = "" if (Path(scratch) / RIGHT).exists() else last or f"exit status {status}"
        # g++'s undefined-behaviour sanitizer always writes to standard error.
        return Watched(sanitizer.legible("\n".join([*texts, said])), failure)


def _started(
    watched: WatchedCommand, session: Session, file: Path, log: Path, limit: float
) -> tuple[int | None, str]:
    """Run a job under a sanitizer's command. Return exit status (None: time limit) and stderr."""
    command, environment = watched([sys.executable, "-m", __name__, str(file)], log)
    process = Process(
        command,
        going=GOING,
        env={**os.environ, **ONE_THREAD, **session.device.environment, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    status, _, stderr = process.output(None, limit)
    return status, stderr


def _forked(session: Session, file: Path, limit: float) -> tuple[int | None, str]:
    """Run a job with a compiled-in sanitizer in a forked process; as :func:`_started`."""
    ours, theirs = socket.socketpair()
    said = file.with_name("said")
    with ours, theirs:
        become = partial(_be_watched, session.device.environment, file, said)
        status = with_all_loaded(become, session.backend, theirs).finish(limit)
    return status, said.read_text("utf-8", errors="replace") if said.exists() else ""


def _be_watched(
    environment: Mapping[str, str], file: Path, said: Path, line: int, above: int
) -> None:
    os.environ.update(environment)
    for stream, path in ((sys.stdout, Path(os.devnull)), (sys.stderr, said)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(opened, stream.fileno())
        os.close(opened)
    sys.exit(_main(file))


def _run(job: Job, right: Path) -> int:
    """Run the launches of every case and judge their outputs. Return the exit status.

    Args:
        right: the file to make if all outputs are right.
    """
    context = WorkerContext.open(job.session)
    device = context.opened(WorkerSlot(sys.stderr.fileno()))
    runner = CaseRunner(device, job.session.target, context.cases, job.session.reference)
    loaded = device.load(job.program.binary)
    try:
        for plan in runner.plans(job.program):
            device.prepare(plan)
            device.run(loaded, plan, job.limit)
            if job.session.sample:
                continue  # the blocks that ran may not be those of the reference's run
            verdict = runner.judge(plan)
            if verdict.penalty:
                print(verdict.reason, file=sys.stderr)
                return WRONG_STATUS
        right.touch()
        return 0
    finally:
        # The sanitizer reports a crash if the context still exists when the interpreter ends.
        device.unload(loaded)
        device.close()


def _main(path: Path) -> int:
    """Run the job in a file. Errors are written to standard error."""
    job: Job = pickle.loads(path.read_bytes())
    try:
        return _run(job, path.with_name(RIGHT))
    except (LaunchHung, LaunchCrashed, LaunchRefused) as error:
        print(error, file=sys.stderr)
        statuses = {LaunchHung: HUNG_STATUS, LaunchCrashed: CRASHED_STATUS}
        return statuses.get(type(error), REFUSED_STATUS)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
