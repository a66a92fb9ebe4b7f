"""A simulated CUDA driver with real memory, for machines without a GPU.

Kernels are Python functions; the tool's own kernels are done here. All work of a worker between
launches (filling, comparing, restoring, keeping answers) is real, and every access beyond allocated
memory fails.
"""

from __future__ import annotations

import bisect
import ctypes
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.device.memory_layout.memory import STRETCH
from gi_cuda.backends.host.build.library import build_library
from gi_cuda.backends.protocol.agreement import NOTHING, values

Bytes = NDArray[np.uint8]
Kernel = Callable[["Driver", bytes], None]
"""A pretended kernel: gets the driver, and the arguments as they lie in memory."""

_FIRST = 2**33
_ALIGNMENT = 2**16
_UNSET = 0xCD
_NUMBER = b"@variant "


def numbered(cubin: bytes, number: int) -> bytes:
    """Return a cubin that stands for the variant of this number in the driver."""
    return cubin + _NUMBER + str(number).encode()


@dataclass
class Driver:
    """The driver's state.

    Attributes:
        kernels: the function for each variant's launches, by number.
        calls: number of allocations, frees, copies, and page-locked allocations.
        launched: the numbers of the launched variants, in order.
        read: number of bytes copied from the device.
    """

    kernels: dict[int, Kernel]
    calls: Counter[str] = field(default_factory=Counter)
    launched: list[int] = field(default_factory=list)
    read: int = 0
    _next: int = _FIRST
    _begins: list[int] = field(default_factory=list)
    _blocks: dict[int, Bytes] = field(default_factory=dict)

    def at(self, address: int, size: int) -> Bytes:
        """Return some bytes from an address on."""
        number = bisect.bisect_right(self._begins, address) - 1
        assert number >= 0, "an address in front of all memory"
        begin = self._begins[number]
        offset, block = address - begin, self._blocks[begin]
        assert offset + size <= len(block), "an access beyond what was allocated"
        return block[offset : offset + size]

    def array(self, address: int, count: int, kind: type[np.generic]) -> NDArray[Any]:
        """Return some values from an address on."""
        return self.at(address, count * np.dtype(kind).itemsize).view(kind)

    # -- what PyCUDA offers --------------------------------------------------------------------

    def module(self) -> ModuleType:
        """Return the driver as a module that replaces ``pycuda.driver``."""
        found: Any = ModuleType("pycuda.driver")
        found.Error = found.MemoryError = _Error
        found.init = lambda: None
        found.Device = lambda number: _Device()
        found.Stream = lambda: SimpleNamespace(handle=1, is_done=lambda: True)
        found.Event = _Event
        found.mem_get_info = lambda: (1 << 40, 1 << 40)
        found.device_attribute = SimpleNamespace(
            MAX_SHARED_MEMORY_PER_BLOCK_OPTIN="shared", MULTIPROCESSOR_COUNT="multiprocessors"
        )
        found.function_attribute = SimpleNamespace(NUM_REGS=0, MAX_DYNAMIC_SHARED_SIZE_BYTES=1)
        found.mem_get_info = lambda: (2**36, 2**36)
        found.mem_alloc = lambda size: _Allocation(self, size)
        found.module_from_buffer = lambda cubin: _Module(self, cubin)
        found.pagelocked_empty = self._pagelocked
        found.memset_d8_async = self._memset_bytes
        found.memset_d32 = found.memset_d32_async = self._memset_words
        found.memcpy_htod = found.memcpy_htod_async = self._to_device
        found.memcpy_dtoh = found.memcpy_dtoh_async = self._from_device
        found.memcpy_dtod_async = self._within
        return found

    def take(self, size: int) -> int:
        """Allocate memory; return its address."""
        self.calls["taken"] += 1
        address = self._next
        self._next += (size // _ALIGNMENT + 2) * _ALIGNMENT
        self._begins.append(address)
        self._blocks[address] = np.full(size, _UNSET, np.uint8)
        return address

    def give_back(self, address: int) -> None:
        """Free memory."""
        self.calls["given back"] += 1
        self._begins.remove(address)
        self._blocks.pop(address, None)  # who collects garbage may have emptied it

    def _pagelocked(self, size: int, kind: type[np.generic]) -> NDArray[Any]:
        self.calls["page-locked"] += 1
        return np.zeros(size, kind)

    def _memset_words(self, address: int, word: int, count: int, stream: object = None) -> None:
        self.array(address, count, np.uint32)[:] = word

    def _memset_bytes(self, address: int, byte: int, count: int, stream: object = None) -> None:
        self.at(address, count)[:] = byte

    def _to_device(self, to: Any, values: NDArray[Any], stream: object = None) -> None:
        self.calls["copied to"] += 1
        self.at(int(to), values.nbytes)[:] = values.reshape(-1).view(np.uint8)

    def _from_device(self, values: NDArray[Any], at: Any, stream: object = None) -> None:
        self.read += values.nbytes
        values.reshape(-1).view(np.uint8)[:] = self.at(int(at), values.nbytes)

    def _within(self, to: int, at: int, size: int, stream: object = None) -> None:
        self.at(to, size)[:] = self.at(at, size).copy()

    # -- the tool's own kernels ----------------------------------------------------------------

    def check(self, arguments: bytes, checks: int) -> None:
        """Do the work of ``gi_check`` in helpers.cu."""
        table, found = struct.unpack("@PP", arguments)
        head = struct.calcsize("@PPQII")
        each = head + len(NOTHING)
        for number in range(checks):
            packed = bytes(self.at(table + each * number, each))
            address, expected, size, word, mended = struct.unpack("@PPQII", packed[:head])
            memory, rule = self.at(address, size), packed[head:]
            wanted = self.at(expected, size) if expected else _repeated(word, address, size)
            if rule == NOTHING:
                wrong = int((memory != wanted).any())
            else:
                at, share = first_wrong(rule, memory, wanted), size // max(1, values(rule))
                wrong = 0 if at == values(rule) else ~(at * share // STRETCH) % 2**32
            if wrong:
                self.array(found + 4 * number, 1, np.uint32)[0] = wrong
                if mended:
                    memory[:] = wanted


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(build_library()))


def agree(rule: bytes, got: NDArray[Any], want: NDArray[Any]) -> bool:
    """Tell whether values are allowed by a packed rule."""
    return first_wrong(rule, got, want) == values(rule)


def first_wrong(rule: bytes, got: NDArray[Any], want: NDArray[Any]) -> int:
    """Return the index of the first value that a packed rule does not allow.

    It is computed by the text that devices compile; the number of values if all are allowed.
    """
    first = _library().gi_first_wrong
    first.argtypes, first.restype = [ctypes.c_char_p, *[ctypes.c_void_p] * 2], ctypes.c_uint64
    return int(first(rule, got.ctypes.data, want.ctypes.data))


def _repeated(word: int, address: int, size: int) -> Bytes:
    """Return some bytes of memory that is filled with a word, aligned to four bytes."""
    pattern = np.frombuffer(struct.pack("<I", word), np.uint8)
    return np.resize(pattern, size + 4)[address % 4 :][:size]


class _Error(Exception):
    """An operation that the driver refuses."""


class _Allocation:
    """Memory that is freed with the object."""

    def __init__(self, driver: Driver, size: int) -> None:
        self._driver, self._address = driver, driver.take(size)

    def __int__(self) -> int:
        return self._address

    __index__ = __int__

    def __del__(self) -> None:
        self._driver.give_back(self._address)


class _Event:
    """An event; each is a millisecond later than the one before."""

    def record(self, stream: object = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def time_since(self, other: object) -> float:
        return 1.0


class _Device:
    def make_context(self) -> Any:
        return SimpleNamespace(pop=lambda: None, detach=lambda: None)

    def pci_bus_id(self) -> str:
        return "none"

    def get_attribute(self, which: str) -> int:
        return {"shared": 4096, "multiprocessors": 2}[which]

    def compute_capability(self) -> tuple[int, int]:
        return 9, 0


@dataclass(frozen=True)
class _Module:
    driver: Driver
    cubin: bytes

    def get_function(self, symbol: str) -> _Function:
        *_, number = self.cubin.rpartition(_NUMBER)
        own = _NUMBER in self.cubin
        return _Function(self.driver, symbol, int(number) if own else None)


@dataclass(frozen=True)
class _Function:
    driver: Driver
    symbol: str
    number: int | None

    def get_attribute(self, which: int) -> int:
        return 0

    def _launch_kernel(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared: int,
        stream: object,
    ) -> None:
        if self.number is not None:
            self.driver.launched.append(self.number)
            self.driver.kernels[self.number](self.driver, arguments)
        elif self.symbol == "gi_check":
            self.driver.check(arguments, grid[1])
        else:  # there is no shared memory, and nothing is confined
            assert self.symbol in ("gi_scrub", "gi_begin")


@contextmanager
def installed(driver: Driver) -> Iterator[None]:
    """Replace PyCUDA by this driver in the context, without reserved addresses."""
    package: Any = ModuleType("pycuda")
    package.driver = driver.module()
    modules = {"pycuda": package, "pycuda.driver": package.driver}
    arena = "gi_cuda.backends.cuda.device.memory_layout.buffers.arena_supported"
    with patch.dict(sys.modules, modules), patch(arena, lambda: False):
        yield
