"""What a command is at, for those who wait: on a terminal in one moving line, elsewhere a line for
each step on standard error, as what it finds is for whoever reads on."""

from __future__ import annotations

import sys
import time
from threading import Event, Thread
from types import TracebackType

from rich.console import Console
from rich.status import Status

REMINDED = 60.0
"""Seconds between two lines that say that a step goes on, where there is no terminal."""


class Steps:
    """Shows the steps that it is told of, one at a time, while its context lasts."""

    def __init__(self, console: Console) -> None:
        self._status: Status | None = console.status("") if console.is_terminal else None
        self._done = Event()
        self._at = ("", 0.0)
        self._reminder = Thread(target=self._remind, daemon=True)

    def __enter__(self) -> Steps:
        if self._status is not None:
            self._status.start()
        else:
            self._reminder.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()
        else:
            self._done.set()
            self._reminder.join()

    def __call__(self, step: str) -> None:
        """From now on it is at this step."""
        if self._status is not None:
            self._status.update(step)
        else:
            self._at = (step, time.monotonic())
            print(step, file=sys.stderr, flush=True)

    def _remind(self) -> None:
        while not self._done.wait(REMINDED):
            step, begun = self._at
            if not step:
                continue  # nothing was begun
            print(f"{step}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
