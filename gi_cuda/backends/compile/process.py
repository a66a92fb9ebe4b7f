"""Run compilers: output, time limits, restarts."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gi_cuda.backends.processes import Process
from gi_cuda.errors import MachineError, machine_error

_ENCODING: Final = "utf-8"
_ERRORS: Final = "surrogateescape"
NOTHING: Mapping[str, str] = MappingProxyType({})

_NOWHERE: Final = Path("/")
"""Working folder that contains no file which a text could include in quotes."""


_STARTS = 3
"""Attempts to run a compiler that others kill."""

_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that never end a compiler because of its input."""

_KILLED = re.compile(
    r"(?:Killed|Terminated|Interrupt|Hangup) signal terminated program"  # gcc
    r"|unable to execute command: (?:Killed|Terminated|Interrupt|Hangup)"  # clang
    r"|died due to signal (?:1|2|9|15)\b"  # nvcc
    r"|out of memory allocating|virtual memory exhausted|Cannot allocate memory"
)
"""Compilers' messages about a child process that was killed, or about a lack of memory."""

_FULL_ERRORS = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)}
_FULL = re.compile("|".join(map(re.escape, _FULL_ERRORS)))


class CompilerKilled(MachineError):
    """Another process killed a compiler, e.g. the system for lack of memory."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The exit status (None: killed at its time limit) and output of a compiler process."""

    status: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.status == 0


def run(
    command: Sequence[str | Path],
    *,
    limit: float,
    stdin: str | None = None,
    environment: Mapping[str, str] = NOTHING,
) -> Finished:
    """Run a compiler. If it is stopped, its children are stopped too.

    It has a lower priority than processes that measure: compilers can use all cores all the time,
    but a device waits for a worker.

    Args:
        command: program and arguments.
        limit: seconds of wall time after which it is killed.
        stdin: text for its standard input. Files that the text includes in quotes are not searched
            in this process's folder; paths in the command have to be absolute.
        environment: additional environment variables.

    Raises:
        Stopped: the result is no longer wanted.
        CompilerKilled: it was killed from outside at each attempt.
        MachineError: the disk is full or cannot be written.
    """
    for _ in range(_STARTS):
        finished = _run_once(command, limit, stdin, environment)
        if finished.ok or finished.status is None:
            return finished
        if full := _FULL.search(finished.stderr):
            raise machine_error(OSError(_FULL_ERRORS[full[0]], full[0]))
        if -(finished.status) not in _FROM_OUTSIDE and not _KILLED.search(finished.stderr):
            return finished
    raise CompilerKilled(
        f"a compiler was killed {_STARTS} times in turn",
        where=Path(command[0]).name,
        hint="is there too little memory? Fewer at a time take less of it: --jobs",
    )


def _run_once(
    command: Sequence[str | Path], limit: float, stdin: str | None, environment: Mapping[str, str]
) -> Finished:
    process = Process(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding=_ENCODING,
        errors=_ERRORS,
        env={**os.environ, **environment, "LC_ALL": "C"},
        cwd=None if stdin is None else _NOWHERE,
    )
    process.give_way()
    return Finished(*process.output(stdin, limit))


def write_text(path: Path, text: str) -> None:
    """Write a file for a compiler. Bytes that are no UTF-8 are preserved."""
    path.write_text(text, encoding=_ENCODING, errors=_ERRORS, newline="")


def read_text(path: Path) -> str:
    """Return the text of a file that a compiler has written; "" if it wrote none."""
    return path.read_text(encoding=_ENCODING, errors=_ERRORS) if path.exists() else ""
