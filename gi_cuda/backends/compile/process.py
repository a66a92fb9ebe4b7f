"""Running compilers: their output and their limits."""

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
"""Where nothing lies that a text could include in quotes."""


_STARTS = 3
"""How often a compiler is started that is killed by others than us."""

_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals by which no compiler ends for what it reads."""

_KILLED = re.compile(
    r"(?:Killed|Terminated|Interrupt|Hangup) signal terminated program"  # gcc
    r"|unable to execute command: (?:Killed|Terminated|Interrupt|Hangup)"  # clang
    r"|died due to signal (?:1|2|9|15)\b"  # nvcc
    r"|out of memory allocating|virtual memory exhausted|Cannot allocate memory"
)
"""What a compiler says where a program that it started ended so, or got no memory."""

_FULL_ERRORS = {os.strerror(number): number for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)}
_FULL = re.compile("|".join(map(re.escape, _FULL_ERRORS)))


class CompilerKilled(MachineError):
    """A compiler was killed by others than us, as the system does where memory is short."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a compiler process ended: exit status (None: stopped at its limit) and its output."""

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
    """Run a compiler; stopping it stops its children too.

    It gives way to processes that measure: compilers have enough to do for all cores all the time,
    and what waits for a worker is a device.

    Args:
        command: program and arguments.
        limit: seconds of wall time after which we kill it.
        stdin: text for its standard input. What that includes in quotes is not looked for in this
            process's folder; paths in the command are to be absolute.
        environment: variables to be set besides those that are.

    Raises:
        Stopped: who asked for it does not want it any more.
        CompilerKilled: it was killed from outside, each time that it was started.
        MachineError: there is no room for what it writes.
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
    """Write what a compiler is to read: bytes that are no UTF-8 come out as they came in."""
    path.write_text(text, encoding=_ENCODING, errors=_ERRORS, newline="")


def read_text(path: Path) -> str:
    """What a compiler has written; nothing where it failed."""
    return path.read_text(encoding=_ENCODING, errors=_ERRORS) if path.exists() else ""
