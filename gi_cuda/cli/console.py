"""Where verbs print, and what was asked for in front of the verb."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

console = Console(soft_wrap=False)


@dataclass(slots=True)
class State:
    """Options given before the verb."""

    debug: bool = False


state = State()


def aside(asked: bool) -> bool:
    """Print on standard error, if asked to: standard output is for one JSON object."""
    console.stderr = asked
    return asked


def print_json(value: object) -> None:
    """A record on standard output (see :mod:`gi_cuda.report.as_json`)."""
    from gi_cuda.report.as_json import as_json

    sys.stdout.write(as_json(value) + "\n")


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Say what is being done while it is (see :class:`~gi_cuda.report.progress.Steps`)."""
    from gi_cuda.report.progress import Steps

    with Steps(console) as tell:
        tell(doing)
        yield
