"""Devices that are not used any more, and what is said of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gi_cuda.errors import DeviceLost, UserError


class Left:
    """What there is to be said, once it is known that it does not concern all."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def add(self, device: str, error: UserError | DeviceLost) -> None:
        """One is not used any more.

        Args:
            device: in words.
        """
        what = error.said if isinstance(error, DeviceLost) else error.what
        self._said.append(f"{device} is not used any more: {what}")

    def say(self, others: Iterable[str]) -> None:
        """Say it, if anything.

        Args:
            others: those that are used, in words.
        """
        for said in self._said:
            print(
                f"gi-cuda: {said}; going on with {', '.join(others)}", file=sys.stderr, flush=True
            )
        self._said.clear()
