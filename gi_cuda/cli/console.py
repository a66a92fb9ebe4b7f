"""The console of all commands, and the options before the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

console = Console(soft_wrap=False)


@dataclass(slots=True)
class State:
    """Options that are given before the command."""

    debug: bool = False


state = State()


def aside(asked: bool) -> bool:
    """Send messages to standard error if `asked`, since standard output is for a JSON object."""
    console.stderr = asked
    return asked


def print_json(value: object) -> None:
    """Print a record as JSON on standard output (see :mod:`gi_cuda.report.as_json`)."""
    from gi_cuda.report.as_json import as_json

    sys.stdout.write(as_json(value) + "\n")


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Show a message while the context is active (see :class:`~gi_cuda.report.progress.Steps`)."""
    from gi_cuda.report.progress import Steps

    with Steps(console) as tell:
        tell(doing)
        yield
