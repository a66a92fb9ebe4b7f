"""Messages about devices that are no longer used."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gi_cuda.errors import DeviceLost, UserError


class Left:
    """Delayed messages about devices that are no longer used.

    They are printed when another device works, since otherwise the error concerns all devices.
    """

    def __init__(self) -> None:
        self._said: list[str] = []

    def add(self, device: str, error: UserError | DeviceLost) -> None:
        """Add a device that is no longer used.

        Args:
            device: its name.
            error: the reason.
        """
        what = error.said if isinstance(error, DeviceLost) else error.what
        self._said.append(f"{device} is not used any more: {what}")

    def say(self, others: Iterable[str]) -> None:
        """Print the messages.

        Args:
            others: names of the devices that are still used.
        """
        for said in self._said:
            print(
                f"gi-cuda: {said}; going on with {', '.join(others)}", file=sys.stderr, flush=True
            )
        self._said.clear()
