"""What a command is at, for those who wait: on a terminal in one moving line, elsewhere a line for
each step on standard error, as what it finds is for whoever reads on."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.status import Status


class Steps:
    """Shows the steps that it is told of, one at a time, while its context lasts."""

    def __init__(self, console: Console) -> None:
        self._status: Status | None = console.status("") if console.is_terminal else None

    def __enter__(self) -> Steps:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, step: str) -> None:
        """From now on it is at this step."""
        if self._status is not None:
            self._status.update(step)
        else:
            print(step, file=sys.stderr, flush=True)
