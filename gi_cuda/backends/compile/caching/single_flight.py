"""Caching for threads: concurrent calls with the same arguments compute the result once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from functools import lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Answer = TypeVar("Answer")


class Turns:
    """Locks by key, made when they are needed."""

    def __init__(self) -> None:
        self._asking: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._at_a_time = threading.Lock()

    def of(self, asked: Hashable) -> AbstractContextManager[object]:
        """Return the lock of a key. Only one thread at a time can hold it."""
        with self._at_a_time:
            turn: AbstractContextManager[object]
            turn = self._asking.setdefault(asked, threading.RLock())
        return turn


def once(maxsize: int | None) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Return an :func:`functools.lru_cache` whose calls wait for a running one of equal arguments.

    Shards are compiled at the same time, and all begin with the same questions.

    Args:
        maxsize: number of results to keep; None: all.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        known = lru_cache(maxsize)(function)
        turns = Turns()

        @wraps(function)
        def asked(*words: Any, **more: Any) -> Answer:
            with turns.of((words, *more.items())):
                return known(*words, **more)

        return asked

    return decorate
