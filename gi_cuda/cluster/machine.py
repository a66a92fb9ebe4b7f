"""Worker side of the cluster: a thread that works for a search, and the functions that the search
calls.

The functions are coroutines in the worker's event loop, beside dask's own tasks. They need no free
worker thread, and results return directly to the caller.
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
"""Seconds after which a call returns even if there are no results."""

DESERTED = 120.0
"""Seconds without a call after which the search counts as gone."""

Share: TypeAlias = Mapping[int, Any]
"""Pieces of work, by the number that the search gave each."""


class Helper(Protocol):
    """Interface of an object that does a machine's work.

    Attributes:
        seconds: time of the reference on the machine; 0 if nothing is measured there.
        floor: noise floor of the machine, as a fraction.
    """

    @property
    def seconds(self) -> float: ...

    @property
    def floor(self) -> float: ...

    def results(
        self, share: Share, stop: Callable[[], bool], more: Callable[[], Share]
    ) -> Iterator[tuple[int, Any]]:
        """Do a share of work, and yield each result with its number.

        Args:
            stop: called now and then; if it returns True, the rest is dropped.
            more: called now and then; returns further work.
        """


Opening: TypeAlias = Callable[[Package, int], AbstractContextManager[Helper]]
"""A function that makes a machine ready; the number is that of the cores it may use."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Answer of a machine that is ready.

    Attributes:
        seconds, floor: see :class:`Helper`.
    """

    seconds: float
    floor: float


@dataclass(frozen=True, slots=True)
class Refused:
    """Answer of a machine that cannot take part, or no longer can.

    Attributes:
        why: reason, for the user.
        hint: remedy, for the user.
    """

    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """Results since the last call.

    Attributes:
        results: results by number.
        ended: reason why no more results will come; None if more will come.
    """

    results: Mapping[int, Any]
    ended: Refused | None = None


class Machine:
    """A worker thread that works for one search.

    Args:
        opening: makes the machine ready.
        package: the run's data that the machine needs.
        threads: number of cores that it may use.
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
        """Tell whether the search goes on."""
        return not (self._over() or self._ended.is_set())

    def close(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._closing.set()

    async def news(self, share: Share, pace: float) -> News:
        """Queue more work, then wait a while for results of earlier work.

        Args:
            pace: seconds for which results are gathered before they are returned.
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
        """Return the seconds for which a call may still wait; 0 if all work is done.

        Args:
            waited: seconds that the call has waited.
        """
        if self._ended.is_set() or self._finished == self._given:
            return 0.0
        return (LONGEST if self._done.empty() else pace) - waited

    def _stir(self) -> None:
        """Wake up the waiting call."""
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
        """Return the work that has arrived; empty if there is none."""
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
    """Yield everything that is in a queue now."""
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
"""Machine by key of its search; a worker holds one machine at a time."""


async def put(key: str, package: Package) -> None:
    """Store the package that a machine of a search will need."""
    _PACKAGES[key] = package


async def join(key: str, opening: Opening, threads: int) -> Joined | Refused:
    """Make this worker a machine of a search; an old machine of the same search is replaced."""
    logging.getLogger("distributed.worker").addFilter(_worth_logging)
    package = _PACKAGES.pop(key)
    for other, machine in list(_MACHINES.items()):
        if other != key and machine.needed:
            return Refused("it works for another search", "wait until that ends, or start more")
        _MACHINES.pop(other).close()
    _MACHINES[key] = Machine(opening, package, threads)
    return await asyncio.wrap_future(_MACHINES[key].joined)


def _worth_logging(record: logging.LogRecord) -> bool:
    """Return False for the worker's log lines about calls of :func:`news`, which come ten a
    second.
    """
    return not (record.msg.startswith("Run out-of-band") and record.args == (news.__name__,))


async def news(key: str, share: Share, pace: float) -> News:
    """See :meth:`Machine.news`.

    Raises:
        KeyError: this worker has not joined, or was restarted since.
    """
    return await _MACHINES[key].news(share, pace)


async def leave(key: str) -> None:
    """Release this worker at the end of a search."""
    _PACKAGES.pop(key, None)
    if key in _MACHINES:
        _MACHINES.pop(key).close()
