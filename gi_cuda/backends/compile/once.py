"""What several threads ask for is found out once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from functools import lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Answer = TypeVar("Answer")


class Turns:
    """By whatever can be asked, whose turn it is."""

    def __init__(self) -> None:
        self._asking: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._at_a_time = threading.Lock()

    def of(self, asked: Hashable) -> AbstractContextManager[object]:
        """While this lasts no other thread is in it for the same."""
        with self._at_a_time:
            turn: AbstractContextManager[object]
            turn = self._asking.setdefault(asked, threading.RLock())
        return turn


def once(maxsize: int | None) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """:func:`functools.lru_cache`, where who asks for what another thread is just finding out waits
    for that. Shards are compiled at the same time, and all ask the same first.

    Args:
        maxsize: how many answers are remembered; None: all.
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
