"""Where verbs print, and what was asked for in front of the verb."""

from __future__ import annotations

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


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Say what is being done while it is (see :class:`~gi_cuda.report.progress.Steps`)."""
    from gi_cuda.report.progress import Steps

    with Steps(console) as tell:
        tell(doing)
        yield
