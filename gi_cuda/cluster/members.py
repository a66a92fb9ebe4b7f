"""Search side of the cluster: the workers that take part, and the work that each of them has.

All of it runs in an event loop in its own thread; one coroutine looks after each worker. Workers
are called through the scheduler, so only its address has to be known.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from gi_cuda.cluster import machine
from gi_cuda.cluster.kinds import Among, everyone
from gi_cuda.cluster.machine import Joined, News, Opening, Refused
from gi_cuda.cluster.meeting import Meeting
from gi_cuda.cluster.package import Package
from gi_cuda.errors import MachineError, UserError

if TYPE_CHECKING:
    from distributed import Client

LOOKED = 1.0
"""Seconds between two looks for new and lost workers."""

PATIENCE = 60.0
"""Seconds without any worker after which the search gives up."""

KEPT = 30.0
"""Seconds between two calls to an idle worker, which show it that the search goes on."""

MOST_CALLS = 200
"""Calls per second through the scheduler, at most; more would keep a core busy."""

PACE = 0.05
"""Seconds for which a worker gathers results before it sends them, at least."""

LEAVING = 3.0
"""Timeout for telling the workers that the search is over, in seconds."""

AHEAD = 0.5
"""Fraction of its fair share below which a worker gets more work."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A worker that takes part.

    Attributes:
        threads: number of cores that it may use.
        joined: its reference time and noise floor.
        has: the work that it was given and has not returned, by number.
    """

    address: str
    threads: int
    joined: Joined
    has: dict[int, Any]


class Members:
    """The workers of a cluster that work for a search; each piece of work has a number.

    Args:
        meeting: the cluster's scheduler.
        opening: makes a worker ready.
        package: data that each worker gets once.
        among: selects the workers that take part.

    Attributes:
        lost: number of pieces of work that were given to others because their worker was lost.
    """

    def __init__(
        self, meeting: Meeting, opening: Opening, package: Package, among: Among = everyone
    ) -> None:
        self._meeting, self._opening, self._package = meeting, opening, package
        self._among = among
        self._others: set[str] = set()
        self._key = os.urandom(8).hex()
        self._waiting: dict[int, Any] = {}
        self._members: dict[str, _Member] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._joining: set[str] = set()
        self._refused: dict[str, Refused] = {}
        self._unsaid: dict[Refused, list[str]] = {}
        self._there = time.monotonic()
        self._news: SimpleQueue[Mapping[int, Any] | Exception] = SimpleQueue()
        self._settled = Event()
        self._loop = asyncio.new_event_loop()
        self._closing, self._more = asyncio.Event(), asyncio.Event()
        self.lost = 0
        self._floor = 0.0
        self._thread = Thread(target=self._run, name="gi-cuda-cluster", daemon=True)

    # -- for the search's thread --------------------------------------------------------------

    def open(self, stop: Callable[[], bool]) -> str:
        """Let the present workers join, and return a description of them.

        Args:
            stop: if it returns True, waiting for workers ends.

        Raises:
            UserError: no worker is found, or none can take part.
        """
        self._thread.start()
        while not self._settled.wait(0.1) and not stop():
            self._raise()
        self._raise()
        return _words(list(self._members.values()))

    def close(self) -> None:
        """Release all workers."""
        if self._thread.is_alive():
            self._call(self._closing.set)
            self._thread.join(2 * LEAVING)

    @property
    def threads(self) -> int:
        """Number of cores that all workers together may use."""
        return sum(one.threads for one in list(self._members.values()))

    @property
    def floor(self) -> float:
        """The largest noise floor of any worker so far, as a fraction."""
        return self._floor

    def give(self, work: Mapping[int, Any]) -> None:
        """Queue work, by number."""
        self._call(self._take, dict(work))

    def take_back(self, numbers: Collection[int]) -> None:
        """Cancel pieces of work that have not begun."""
        self._call(self._drop, frozenset(numbers))

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended; news() raises the reason
            self._loop.call_soon_threadsafe(function, *arguments)

    def news(self, patience: float) -> Mapping[int, Any]:
        """Return the results that arrived, by number; wait at most ``patience`` seconds.

        Raises:
            UserError: no workers are left.
        """
        try:
            found = self._news.get(timeout=patience)
        except Empty:
            return {}
        if isinstance(found, Exception):
            raise found
        return found

    def _raise(self) -> None:
        with suppress(Empty):
            found = self._news.get_nowait()
            assert isinstance(found, Exception)
            raise found

    # -- in the loop --------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        except Exception as error:
            self._news.put(error)
        finally:
            self._loop.close()

    async def _main(self) -> None:
        client = await self._meeting.client()
        try:
            await self._look(client)
        except UserError:
            raise
        except Exception as error:
            if client.status == "running":
                raise
            said = f"the dask scheduler is gone: {error}"
            raise MachineError(said, where=self._meeting.where) from None
        finally:
            # Ignore errors: the scheduler or the workers may be gone already.
            with suppress(Exception):
                await asyncio.wait_for(self._leave(client), LEAVING)
            with suppress(Exception):
                await client.close(timeout=LEAVING)

    async def _look(self, client: Client) -> None:
        """Watch for workers that come and go, until the search ends."""
        while not self._closing.is_set():
            there: Mapping[str, int] = await client.nthreads()
            for gone in self._tasks.keys() - there.keys():
                self._tasks.pop(gone).cancel()
            new = there.keys() - self._tasks.keys() - self._refused.keys() - self._others
            if invited := set(await self._among(client, sorted(new))):
                await self._invite(client, {address: there[address] for address in sorted(invited)})
            self._others |= new - invited
            self._check_there(there)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), LOOKED)

    async def _invite(self, client: Client, new: Mapping[str, int]) -> None:
        """Ask workers to join; the package is sent to the scheduler once for all of them."""
        self._joining |= new.keys()
        arguments = (self._key, self._package)
        answers = await client.run(machine.put, *arguments, workers=list(new), on_error="return")
        for address, threads in new.items():
            if isinstance(error := answers[address], ImportError):
                self._joining.discard(address)
                self._refuse(address, Refused(str(error), "install gi-cuda for its Python"))
            elif error is not None:
                self._joining.discard(address)  # the worker is gone, or is asked again later
            else:
                following = self._follow(client, address, threads)
                self._tasks[address] = asyncio.create_task(following)

    async def _follow(self, client: Client, address: str, threads: int) -> None:
        """Look after a worker until it is lost or cannot go on."""

        async def call(function: Callable[..., Any], *arguments: object) -> Any:
            answers = await client.run(function, self._key, *arguments, workers=[address])
            return answers[address]

        has: dict[int, Any] = {}
        try:
            answer: Joined | Refused = await call(machine.join, self._opening, threads)
            if isinstance(answer, Refused):
                self._refuse(address, answer)
                return
            member = self._members[address] = _Member(address, threads, answer, has)
            self._floor = max(self._floor, answer.floor)
            self._joining.discard(address)
            if self._settled.is_set():
                _say(f"one more joins: {_words([member])}")
            while True:
                share, pace = await self._share(member), len(self._members) / MOST_CALLS
                told: News = await call(machine.news, share, max(PACE, pace))
                for number in told.results:
                    has.pop(number, None)
                if told.results:
                    self._news.put(told.results)
                if told.ended is not None:
                    self._refuse(address, told.ended)
                    return
        except Exception as error:
            # The worker cannot be reached now; it may join again later.
            self._say_lost(address, has, type(error).__name__)
        except asyncio.CancelledError:
            self._say_lost(address, has, "it left")
        finally:
            self._joining.discard(address)
            self._members.pop(address, None)
            self._tasks.pop(address, None)
            self.lost += len(has)
            self._take(has)

    def _say_lost(self, address: str, has: Mapping[int, Any], why: str) -> None:
        if not self._closing.is_set():
            left = f"; the {len(has)} that it was at go to others" if has else ""
            _say(f"worker {address} is lost ({why}){left}")

    async def _share(self, member: _Member) -> Mapping[int, Any]:
        """Return the next work of a worker; empty if it has enough."""
        if not (member.has or self._waiting):
            self._more.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), KEPT)
        fair = self._fair()
        if len(member.has) > AHEAD * fair:
            return {}
        number = max(fair - len(member.has), member.threads)
        share = {one: self._waiting.pop(one) for one in list(self._waiting)[:number]}
        member.has.update(share)
        return share

    def _fair(self) -> int:
        """Return the amount of work that each worker may have now.

        It shrinks as less work is left, so that all workers end at about the same time.
        """
        under_way = sum(len(one.has) for one in self._members.values())
        return math.ceil((len(self._waiting) + under_way) / (2 * max(1, len(self._members))))

    def _take(self, work: dict[int, Any]) -> None:
        # Sort by number: results of older work are needed first.
        self._waiting = dict(sorted({**self._waiting, **work}.items()))
        if work:
            self._more.set()

    def _drop(self, numbers: Collection[int]) -> None:
        self._waiting = {n: one for n, one in self._waiting.items() if n not in numbers}

    def _refuse(self, address: str, why: Refused) -> None:
        self._refused[address] = why
        self._unsaid.setdefault(why, []).append(address)

    def _check_there(self, there: Mapping[str, int]) -> None:
        """Check that some worker takes part, and report the workers that were left out.

        Raises:
            MachineError: no worker takes part, and none is joining.
        """
        if self._joining:
            return
        for why, addresses in self._unsaid.items():
            hint = f"; {why.hint}" if why.hint else ""
            _say(f"left out: {', '.join(addresses)}: {why.why}{hint}")
        self._unsaid.clear()
        if self._members:
            self._there = time.monotonic()
            self._settled.set()
        elif there and there.keys() <= self._refused.keys():
            reasons = {self._refused[address].why for address in there}
            raise MachineError(
                f"none of its workers can take part: {'; '.join(sorted(reasons))}",
                where=self._meeting.where,
                hint="start workers on machines like the one that searches, with the same tools",
            )
        elif time.monotonic() - self._there > PATIENCE:
            raise MachineError(
                f"there was no worker for {PATIENCE:g} s",
                where=self._meeting.where,
                hint="start workers, e.g. `dask worker` with the same address, and go on",
            )

    async def _leave(self, client: Client) -> None:
        theirs = [*self._members, *self._joining]
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if theirs:
            await client.run(machine.leave, self._key, workers=theirs, on_error="ignore")


def _say(what: str) -> None:
    print(f"gi-cuda: {what}", file=sys.stderr, flush=True)


def _words(members: Sequence[_Member]) -> str:
    """Return a description of the workers: number of cores, reference time and noise floor."""
    if not members:
        return "nobody yet"
    who = f"worker {members[0].address}" if len(members) == 1 else f"{len(members)} workers"
    threads = sum(one.threads for one in members)
    said = f"{who} with {threads} thread{'s' * (threads > 1)}"
    if not any(one.joined.seconds for one in members):
        return said
    times = _from_to([one.joined.seconds * 1e3 for one in members], "{:.3f}")
    floors = _from_to([one.joined.floor for one in members], "{:.2%}")
    return f"{said}: reference {times} ms, noise floor {floors}"


def _from_to(numbers: Sequence[float], form: str) -> str:
    ends = dict.fromkeys(form.format(one) for one in (min(numbers), max(numbers)))
    return " to ".join(ends)
