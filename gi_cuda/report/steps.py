"""What a command is at, for those who wait: on a terminal always, elsewhere once it takes long."""

from __future__ import annotations

from threading import Timer
from types import TracebackType

from rich.console import Console
from rich.status import Status

PATIENCE = 3.0
"""Seconds after which a step is worth a line where there is no terminal."""


class Steps:
    """Shows the steps that it is told of, one at a time, while its context lasts."""

    def __init__(self, console: Console, patience: float = PATIENCE) -> None:
        self._console = console
        self._patience = patience
        self._status: Status | None = None
        self._timer: Timer | None = None

    def __enter__(self) -> Steps:
        if self._console.is_terminal:
            self._status = self._console.status("")
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._forget()
        if self._status is not None:
            self._status.stop()

    def __call__(self, step: str) -> None:
        """From now on it is at this step."""
        if self._status is not None:
            self._status.update(step)
            return
        self._forget()
        self._timer = Timer(self._patience, self._say, (step,))
        self._timer.daemon = True
        self._timer.start()

    def _say(self, step: str) -> None:
        self._console.print(f"{step} ...", highlight=False, soft_wrap=True, markup=False)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
