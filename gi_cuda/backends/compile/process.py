"""Running compilers: their output and their limits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gi_cuda.backends.processes import Process

_ENCODING: Final = "utf-8"
_ERRORS: Final = "surrogateescape"
NOTHING: Mapping[str, str] = MappingProxyType({})


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
        limit: seconds of wall time after which it is killed.
        stdin: text for its standard input.
        environment: variables to be set besides those that are.

    Raises:
        Stopped: who asked for it does not want it any more.
    """
    process = Process(
        [*_giving_way(), *(str(word) for word in command)],
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding=_ENCODING,
        errors=_ERRORS,
        env={**os.environ, **environment, "LC_ALL": "C"},
    )
    return Finished(*process.output(stdin, limit))


def _giving_way() -> Sequence[str]:
    """What stands before a command that is to give way to others."""
    return ("nice", "-n", "5") if shutil.which("nice") else ()


def write_text(path: Path, text: str) -> None:
    """Write what a compiler is to read: bytes that are no UTF-8 come out as they came in."""
    path.write_text(text, encoding=_ENCODING, errors=_ERRORS, newline="")


def read_text(path: Path) -> str:
    """What a compiler has written; nothing where it failed."""
    return path.read_text(encoding=_ENCODING, errors=_ERRORS) if path.exists() else ""
