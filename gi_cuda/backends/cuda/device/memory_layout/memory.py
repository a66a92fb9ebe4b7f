"""Device buffers between guard zones, and checks of memory that run on the device."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.arena import UNIT, Arena
from gi_cuda.backends.protocol.agreement import NOTHING
from gi_cuda.backends.protocol.device import POISON, UNSET, margin_of

GUARD = 64 * 1024
"""Bytes before and after every buffer; a multiple of the device's alignment of memory."""

_WORD = 4

_CHECK_BLOCKS, _CHECK_THREADS = 264, 256
_MOST_CHECKS = 65535

_TABLES = 256
"""Number of tables of checks that are kept on the device."""

_FINDINGS = 256
"""Minimum number of checks for whose results memory is allocated."""

STRETCH = 2**20
"""Bytes of the sections in which a check by a rule locates the first wrong value; ``helpers.cu``
has the same number."""

_SCRUB_THREADS = 1024

_L2_BYTES = 64 * 2**20
"""Assumed size of the second-level cache if the device does not report it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A buffer on the device.

    Attributes:
        name: the buffer's name.
        address: address of its first byte.
        size: bytes.
        guarded: whether guard zones of ours surround it; False for a variant's own variables.
        pristine: address of a copy of its contents before a launch; 0 if there is none.
        memory: keeps it, or the copy, allocated.
        zero: whether it is filled with zeros instead of poison if there is no copy.
    """

    name: str
    address: int
    size: int
    guarded: bool
    pristine: int = 0
    memory: Any = None
    zero: bool = False


@dataclass(frozen=True, slots=True)
class MemoryCheck:
    """A check that memory equals other memory or, if ``expected`` is 0, is filled with a word.

    Attributes:
        address, size: the memory to check.
        expected: address of the memory that it has to equal.
        mended: whether differing memory is overwritten with what it should hold.
        word: the word that it has to be filled with.
        rule: packed rule by which other values are as good; by default all bytes have to be equal.
    """

    address: int
    size: int
    expected: int = 0
    mended: bool = False
    word: int = POISON
    rule: bytes = NOTHING

    def packed(self) -> bytes:
        """Return the form that ``gi_check`` reads."""
        where = self.address, self.expected, self.size
        return struct.pack("@PPQII", *where, self.word, int(self.mended)) + self.rule


def guards(region: Region) -> tuple[MemoryCheck, ...]:
    """Return checks of the zones before and after a buffer, which are mended."""
    if not region.guarded:
        return ()
    end, word = region.address + region.size, margin_of(region.name)
    behind = _padded(region.size) + GUARD - region.size
    return (
        MemoryCheck(region.address - GUARD, GUARD, mended=True, word=word),
        MemoryCheck(end, behind, mended=True, word=word),
    )


def _padded(size: int) -> int:
    return -(-size // 16) * 16


@dataclass(frozen=True, slots=True)
class Looks:
    """Groups of checks, each of which can be run at its own time.

    Attributes:
        function: kernel that runs a group.
        tables: the groups on the device; kept while they are in use.
        sizes: number of checks of each group.
        found: results on the device.
        landing: host memory for the results.
    """

    context: Context
    function: Any
    tables: Sequence[Any]
    sizes: Sequence[int]
    found: Any
    landing: NDArray[np.uint32]

    def take(self, group: int) -> None:
        """Run the checks of a group. Does not wait."""
        if size := self.sizes[group]:
            found = int(self.found) + 4 * sum(self.sizes[:group])
            arguments = struct.pack("@PP", int(self.tables[group]), found)
            grid = (_CHECK_BLOCKS, size, 1)
            self.context.launch(self.function, grid, (_CHECK_THREADS, 1, 1), arguments)

    def failing(self) -> list[dict[int, int]]:
        """Return for each group the failed checks, by index.

        The value is, for a check by a rule, the first byte of the section with the first wrong
        value. Waits for the device.
        """
        if len(self.landing):
            stream = self.context.stream
            self.context.drv.memcpy_dtoh_async(self.landing, int(self.found), stream)
            self.context.settle()
        ends = np.cumsum(self.sizes)[:-1]
        return [
            {at: int(~part[at]) * STRETCH for at in np.flatnonzero(part).tolist()}
            for part in np.split(self.landing, ends)
        ]


class Memory:
    """Allocates, fills and checks device memory, all in the context's stream.

    Args:
        context: the worker's context.
        helpers: module of the tool's own kernels.
    """

    def __init__(self, context: Context, helpers: Any) -> None:
        self._context = context
        self._drv = context.drv
        self._check = context.function(helpers, "gi_check", 0)
        self._tables: dict[tuple[MemoryCheck, ...], Any] = {}
        self._found: Any = None
        self._findings: NDArray[np.uint32] = np.empty(0, np.uint32)
        self._landing: dict[tuple[str, int], NDArray[np.uint8]] = {}

    def room(self, name: str, size: int, pristine: int = 0, arena: Arena | None = None) -> Region:
        """Allocate memory, not filled yet, for a new buffer between guard zones.

        Args:
            name: name for messages; decides the contents of the guard zones.
            size: bytes.
            pristine: address of a copy of its contents before a launch; 0 if there is none.
            arena: arena to use; without one the buffer is in plain memory.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        memory = (arena or self._context).allocate(name, GUARD + _padded(size) + GUARD)
        return Region(name, int(memory) + GUARD, size, True, pristine, memory)

    def fill(self, region: Region, arena: Arena | None = None) -> None:
        """Fill a new buffer (with poison or its pristine copy) and its guards. Does not wait.

        Args:
            arena: the arena that it is in.
        """
        begin, whole = region.address - GUARD, GUARD + _padded(region.size) + GUARD
        stream = self._context.stream
        self._drv.memset_d32_async(begin, margin_of(region.name), whole // _WORD, stream)
        if arena:
            arena.shadow.let_in(region.address, region.size)
        self.restore(region)

    def upload(self, name: str, array: NDArray[Any]) -> Any:
        """Return a copy of an array on the device, without guard zones.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        memory = self.room_for(name, array)
        self.write(memory, array)
        return memory

    def room_for(self, name: str, array: NDArray[Any]) -> Any:
        """Allocate memory for a copy of an array.

        Raises:
            LaunchRefused: see :meth:`upload`.
        """
        return self._context.allocate(name, max(16, array.nbytes))

    def has_room(self, size: int) -> bool:
        """Tell whether ``size`` bytes are free."""
        free, _ = self._drv.mem_get_info()
        return bool(size <= free)

    def write(self, memory: Any, array: NDArray[Any]) -> None:
        """Copy an array to allocated memory."""
        self._drv.memcpy_htod(memory, np.ascontiguousarray(array))

    def kept(self, name: str, address: int, size: int) -> Region:
        """Return a region of memory that others allocated, with a copy of its present contents.

        Does not wait.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        copy = self._context.allocate(f"a copy of {name}", size)
        self._drv.memcpy_dtod_async(int(copy), address, size, self._context.stream)
        return Region(name, address, size, False, int(copy), copy)

    def restore(self, region: Region) -> None:
        """Give a buffer its contents before a launch."""
        stream = self._context.stream
        if region.pristine:
            self._drv.memcpy_dtod_async(region.address, region.pristine, region.size, stream)
        elif region.guarded:
            words, rest = divmod(region.size, _WORD)
            if words:
                self._drv.memset_d32_async(region.address, POISON, words, stream)
            for at in range(rest):  # another whole word would overwrite part of the guard zone
                byte, end = POISON >> 8 * at & 0xFF, region.address + _WORD * words
                self._drv.memset_d8_async(end + at, byte, 1, stream)
        else:
            byte = 0 if region.zero else POISON & 0xFF
            self._drv.memset_d8_async(region.address, byte, region.size, stream)

    def cushion(self, arena: Arena) -> Region:
        """Return the memory behind an arena's cushion, filled with poison."""
        region = Region("", arena.filling, UNIT, False)
        stream = self._context.stream
        self._drv.memset_d32_async(region.address, POISON, region.size // 4, stream)
        return region

    def put(self, region: Region, contents: NDArray[Any]) -> None:
        """Fill a region with contents other than its pristine copy."""
        whole = np.ascontiguousarray(contents)
        self._drv.memcpy_htod_async(region.address, whole, self._context.stream)

    def failing(self, checks: Sequence[MemoryCheck]) -> Collection[int]:
        """Return the indices of the checks that fail. Waits for the device."""
        looks = self.looks([checks[:_MOST_CHECKS]])
        looks.take(0)
        return looks.failing()[0]

    def looks(self, groups: Sequence[Sequence[MemoryCheck]]) -> Looks:
        """Return groups of checks that can be run at different times.

        Results of checks that were prepared before are lost.

        Raises:
            LaunchRefused: the device has too little memory.
        """
        number = sum(map(len, groups))
        if number > len(self._findings):
            room = max(_FINDINGS, 2 * number)
            self._found = self._context.allocate("checks", 4 * room)
            self._findings = self._drv.pagelocked_empty(room, np.uint32)
        tables = [self._table(tuple(group)) if group else None for group in groups]
        if number:
            self._drv.memset_d32_async(int(self._found), 0, number, self._context.stream)
        sizes, landing = tuple(map(len, groups)), self._findings[:number]
        return Looks(self._context, self._check, tables, sizes, self._found, landing)

    def _table(self, checks: tuple[MemoryCheck, ...]) -> Any:
        """Return the checks on the device."""
        if checks not in self._tables:
            packed = np.frombuffer(b"".join(check.packed() for check in checks), np.uint8)
            table = self.upload("checks", packed)
            if len(self._tables) >= _TABLES:
                del self._tables[next(iter(self._tables))]
            self._tables[checks] = table
        return self._tables[checks]

    def download(self, regions: Sequence[Region]) -> list[NDArray[np.uint8]]:
        """Return the bytes of buffers; valid until the next call. Waits for the device."""
        arrays = []
        for region in regions:
            key = (region.name, region.size)
            if key not in self._landing:
                self._landing[key] = self._drv.pagelocked_empty(region.size, np.uint8)
            arrays.append(self._landing[key])
            self._drv.memcpy_dtoh_async(arrays[-1], region.address, self._context.stream)
        self._context.settle()
        return arrays


def scrubber(context: Context, helpers: Any) -> Callable[[], None]:
    """Return a function that poisons the shared memory of every multiprocessor."""
    room = context.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", 48 * 1024)
    blocks = context.attribute("MULTIPROCESSOR_COUNT", 1)
    function = context.function(helpers, "gi_scrub", room)
    arrived = context.allocate("scrubbing", 4)
    context.drv.memset_d32(int(arrived), 0, 1)
    number = 0

    def scrub() -> None:
        nonlocal number
        number += 1
        goal = number * blocks % 2**32
        arguments = struct.pack("@IIPI", UNSET, room // 4, int(arrived), goal)
        grid, block = (blocks, 1, 1), (_SCRUB_THREADS, 1, 1)
        context.launch(function, grid, block, arguments, room)

    return scrub


def flusher(context: Context) -> Callable[[], None]:
    """Return a function that evicts everything else from the second-level cache."""
    size = 2 * context.attribute("L2_CACHE_SIZE", _L2_BYTES)
    memory = context.allocate("flushing the cache", size)
    return lambda: context.drv.memset_d32_async(int(memory), POISON, size // 4, context.stream)
