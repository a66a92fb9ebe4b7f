"""What goes on in a worker of the cluster: a thread that works, and what the search calls.

These functions are coroutines of the worker's event loop, beside dask's own tasks. So a worker
needs no free thread for them, and an answer goes straight to who waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Protocol, TypeAlias

from gi_cuda.cluster.package import Package
from gi_cuda.errors import DeviceLost, UserError, WorkerFault

LONGEST = 1.0
"""Seconds after which a call is answered though there is nothing to be told."""

DESERTED = 120.0
"""Seconds without a call after which there is no search any more."""

Share: TypeAlias = Mapping[int, Any]
"""What is to be done, by numbers that the search gave it."""


class Helper(Protocol):
    """What does a machine's work.

    Attributes:
        seconds: what the reference takes there; 0: nothing is measured.
        floor: the noise floor there, as a fraction.
    """

    @property
    def seconds(self) -> float: ...

    @property
    def floor(self) -> float: ...

    def results(
        self, share: Share, stop: Callable[[], bool], more: Callable[[], Share]
    ) -> Iterator[tuple[int, Any]]:
        """Do a share; yields what came of each, under its number.

        Args:
            stop: asked now and then; if true, the rest is left.
            more: asked now and then; what is to be done besides.
        """


Opening: TypeAlias = Callable[[Package, int], AbstractContextManager[Helper]]
"""Makes a machine ready, given how many processors it may use."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A machine is ready.

    Attributes:
        seconds, floor: see :class:`Helper`.
    """

    seconds: float
    floor: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A machine cannot take part, or not any more.

    Attributes:
        why: for people.
        hint: what to do about it.
    """

    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What was done since the last call.

    Attributes:
        results: by their numbers.
        ended: why there will be no more, if so.
    """

    results: Mapping[int, Any]
    ended: Refused | None = None


class Machine:
    """Works for one search, in a thread of its own.

    Args:
        opening: makes it ready.
        package: what it needs of the search.
        threads: how many processors it may use.
    """

    def __init__(self, opening: Opening, package: Package, threads: int) -> None:
        self._shares: SimpleQueue[Share] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._closing, self._ended = Event(), Event()
        self._loop, self._stirred = asyncio.get_running_loop(), asyncio.Event()
        self._given = self._finished = 0
        self._heard = time.monotonic()
        self._why = Refused("it was closed")
        self.joined: Future[Joined | Refused] = Future()
        arguments = (opening, package, threads)
        self._thread = Thread(target=self._work, args=arguments, name="gi-cuda", daemon=True)
        self._thread.start()

    @property
    def needed(self) -> bool:
        """Whether its search goes on."""
        return not (self._over() or self._ended.is_set())

    def close(self) -> None:
        """Begin to end; does not wait."""
        self._closing.set()

    async def news(self, share: Share, pace: float) -> News:
        """Take more work, and wait a while for what came of earlier work.

        Args:
            pace: seconds for which results are gathered before they are told.
        """
        begun = self._heard = time.monotonic()
        if share:
            self._given += len(share)
            self._shares.put(share)
        while (limit := self._patience(time.monotonic() - begun, pace)) > 0:
            self._stirred.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), limit)
        self._heard = time.monotonic()
        ended = self._ended.is_set()
        return News(dict(_taken(self._done)), self._why if ended else None)

    def _patience(self, waited: float, pace: float) -> float:
        """Seconds for which a call may still wait; who has nothing left to do is told of at once.

        Args:
            waited: seconds since it came.
        """
        if self._ended.is_set() or self._finished == self._given:
            return 0.0
        return (LONGEST if self._done.empty() else pace) - waited

    def _stir(self) -> None:
        """Wake up the call that waits."""
        with suppress(RuntimeError):  # the worker is ending
            self._loop.call_soon_threadsafe(self._stirred.set)

    def _over(self) -> bool:
        return self._closing.is_set() or time.monotonic() - self._heard > DESERTED

    def _work(self, opening: Opening, package: Package, threads: int) -> None:
        try:
            with opening(package, threads) as helper:
                self._heard = time.monotonic()
                self.joined.set_result(Joined(helper.seconds, helper.floor))
                while not self._over():
                    if share := self._next(LONGEST):
                        for result in helper.results(share, self._over, self._next):
                            self._done.put(result)
                            self._finished += 1
                            self._stir()
        except BaseException as error:
            self._why = _refused(error)
        finally:
            self._ended.set()
            self._stir()
            if not self.joined.done():
                self.joined.set_result(self._why)

    def _next(self, patience: float = 0.0) -> Share:
        """What has come to be done; empty if nothing has."""
        found: dict[int, Any] = {}
        try:
            if patience:
                found |= self._shares.get(timeout=patience)
        except Empty:
            return {}
        for share in _taken(self._shares):
            found |= share
        return found


def _taken(queue: SimpleQueue) -> Iterator:  # type: ignore[type-arg]
    """All that is in a queue now."""
    try:
        while True:
            yield queue.get_nowait()
    except Empty:
        return


def _refused(error: BaseException) -> Refused:
    match error:
        case UserError():
            said = f"{error.where}: {error.what}" if error.where else error.what
            return Refused(said, error.hint or "")
        case DeviceLost():
            return Refused(f"its device is lost: {error.said}")
        case WorkerFault():
            return Refused(str(error))
    traceback.print_exception(error)
    return Refused(f"{type(error).__name__}: {error}", "its own log has more")


# -- what the search calls -------------------------------------------------------------------------

_PACKAGES: dict[str, Package] = {}
_MACHINES: dict[str, Machine] = {}
"""By the searches' keys; in a worker there is one at a time."""


async def put(key: str, package: Package) -> None:
    """Keep what a search's machine will need."""
    _PACKAGES[key] = package


async def join(key: str, opening: Opening, threads: int) -> Joined | Refused:
    """Make this worker a machine of a search, anew if it was one."""
    logging.getLogger("distributed.worker").addFilter(_worth_logging)
    package = _PACKAGES.pop(key)
    for other, machine in list(_MACHINES.items()):
        if other != key and machine.needed:
            return Refused("it works for another search", "wait until that ends, or start more")
        _MACHINES.pop(other).close()
    _MACHINES[key] = Machine(opening, package, threads)
    return await asyncio.wrap_future(_MACHINES[key].joined)


def _worth_logging(record: logging.LogRecord) -> bool:
    """Whether a line of the worker's log is not one of those that would come ten times a second."""
    return not (record.msg.startswith("Run out-of-band") and record.args == (news.__name__,))


async def news(key: str, share: Share, pace: float) -> News:
    """See :meth:`Machine.news`.

    Raises:
        KeyError: this worker did not join, or was started anew since.
    """
    return await _MACHINES[key].news(share, pace)


async def leave(key: str) -> None:
    """The search is over."""
    _PACKAGES.pop(key, None)
    if key in _MACHINES:
        _MACHINES.pop(key).close()
