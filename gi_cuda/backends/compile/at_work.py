"""How many compiler processes are at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AtWork:
    """Counts the shards that are being compiled, of all builds of compilers that share it.

    Nothing here takes a lock, which Ctrl-C could leave taken.
    """

    def __init__(self) -> None:
        self._shards: set[object] = set()

    @property
    def number(self) -> int:
        """Of shards, each of which keeps a processor busy."""
        return len(self._shards)

    @contextmanager
    def one(self) -> Iterator[None]:
        """One more is compiled inside."""
        shard = object()
        self._shards.add(shard)
        try:
            yield
        finally:
            self._shards.discard(shard)
