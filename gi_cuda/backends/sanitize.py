"""A program run over its cases while a sanitizer watches every access.

Each run is a process of its own, and nothing in it is timed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends import ONE_THREAD
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.backends.protocol.requests import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.workers import once

LIMIT = 300.0
"""Seconds that a watched run may take, on the device's clock and by the wall."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of one watched run.

    Attributes:
        log: what the sanitizer wrote.
        failure: how the run ended, where it did not end well; else "".
    """

    log: str
    failure: str


def watch(sanitizer: Sanitizer, session: Session, program: Program) -> Watched:
    """Run a program, compiled by the sanitizer's compiler, over its cases."""
    with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
        file, log = Path(scratch) / "job", Path(scratch) / "log"
        file.write_bytes(pickle.dumps(once.Job(session, program, LIMIT)))
        words = [sys.executable, "-m", once.__name__, str(file)]
        command, environment = sanitizer.command(words, log)
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **ONE_THREAD, **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LIMIT,
                check=False,
            )
            status, said = done.returncode, done.stderr.strip()
        except subprocess.TimeoutExpired:
            status, said = 1, f"not at its end after {LIMIT:g} s"
        # The compilers' sanitizers put the process's number behind the name.
        logs = sorted(Path(scratch).glob("log*"))
        texts = [path.read_text("utf-8", errors="replace") for path in logs]
        last = said.rpartition("\n")[2]
        failure = (last or f"exit status {status}") if status else ""
        # g++'s undefined-behaviour sanitizer writes to standard error, come what may.
        return Watched("\n".join([*texts, said]), failure)
