"""What several threads ask for is found out once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Answer = TypeVar("Answer")


def once(maxsize: int | None) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """:func:`functools.lru_cache`, where who asks for what another thread is just finding out waits
    for that. Shards are compiled at the same time, and all ask the same first.

    Args:
        maxsize: how many answers are remembered; None: all.
    """

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        known = lru_cache(maxsize)(function)
        asking: WeakValueDictionary[Any, Any] = WeakValueDictionary()
        at_a_time = threading.Lock()

        @wraps(function)
        def asked(*words: Any, **more: Any) -> Answer:
            with at_a_time:
                alone = asking.setdefault((words, *more.items()), threading.RLock())
            with alone:
                return known(*words, **more)

        return asked

    return decorate
