"""A range of addresses, all of which can be accessed, with little memory behind most of them."""

from __future__ import annotations

import ctypes
from typing import Any

from gi_cuda.backends.cuda.driver import meaning

_PINNED = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


_HERE = _Location(_DEVICE, 0)


class Refusal(Exception):
    """The driver refused a call; the message has its status."""


_SIGNATURES = {
    "cuMemAddressReserve": (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_uint64,
        ctypes.c_uint64,
    ),
    "cuMemCreate": (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64),
    "cuMemRelease": (ctypes.c_uint64,),
    "cuMemMap": (
        ctypes.c_uint64,
        ctypes.c_size_t,
        ctypes.c_size_t,
        ctypes.c_uint64,
        ctypes.c_uint64,
    ),
    "cuMemUnmap": (ctypes.c_uint64, ctypes.c_size_t),
    "cuMemSetAccess": (ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t),
}
"""Driver functions that PyCUDA lacks, with the types of their arguments."""


class Stretch:
    """A range of addresses mapped to the same small piece of memory, or to memory of their own.

    Memory is never given back: a range lives as long as its context.

    Args:
        wanted: wanted first address; the range begins elsewhere if the system uses that address.
        size: bytes of the range; none of them can be accessed at first.
        unit: bytes of the piece; all sizes and begins here are multiples of it.

    Attributes:
        begin, end: its first address, and the address after its last.

    Raises:
        Refusal: the driver refuses to make one.
    """

    def __init__(self, wanted: int, size: int, unit: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        for name, types in _SIGNATURES.items():
            getattr(self._cuda, name).argtypes = types
        self._unit = unit
        begin = ctypes.c_uint64()
        self._call("cuMemAddressReserve", ctypes.byref(begin), size, 0, wanted, 0)
        self.begin, self.end = begin.value, begin.value + size
        self._piece = self.create(unit)
        self._filled = self.begin

    def fill(self, end: int) -> None:
        """Map the piece to all addresses before ``end`` that are not mapped yet.

        Raises:
            Refusal: the driver refuses.
        """
        begin = self._filled
        for address in range(begin, end, self._unit):
            self._call("cuMemMap", address, self._unit, 0, self._piece, 0)
            self._filled = address + self._unit
        if begin < self._filled:
            self._allow(begin, self._filled)

    def put(self, begin: int, size: int, memory: int) -> None:
        """Map memory of their own to addresses. All earlier addresses have to be mapped.

        Args:
            memory: memory from :meth:`create`.

        Raises:
            Refusal: the driver refuses to map it.
        """
        end = begin + size
        for address in range(begin, min(end, self._filled), self._unit):
            self._call("cuMemUnmap", address, self._unit)
        self._call("cuMemMap", begin, size, 0, memory, 0)
        self._allow(begin, end)
        self._filled = max(self._filled, end)

    def create(self, size: int) -> int:
        """Allocate memory without an address.

        Raises:
            Refusal: the device has too little memory.
        """
        handle, wanted = ctypes.c_uint64(), _Properties(_PINNED, 0, _HERE)
        self._call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(wanted), 0)
        return handle.value

    def release(self, memory: int) -> None:
        """Free memory that was not mapped."""
        self._call("cuMemRelease", memory)

    def _allow(self, begin: int, end: int) -> None:
        access = _Access(_HERE, _READ_WRITE)
        self._call("cuMemSetAccess", begin, end - begin, ctypes.byref(access), 1)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._cuda, name)(*arguments):
            raise Refusal(f"{name}: {meaning(self._cuda, status)}")
