"""Addresses in a row that can all be used, with next to no memory behind most of them."""

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
    """The driver's status, where it does not do what it is asked."""


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
"""The calls that PyCUDA does not have, with the types of their arguments."""


class Stretch:
    """Addresses behind all of which lies the same small piece of memory, as far as they have none
    of their own.

    What is taken is never given back: it lives as long as its context.

    Args:
        wanted: where it is to begin; where the system has something there, it begins elsewhere.
        size: bytes of addresses, of which none can be used at first.
        unit: bytes of the piece, and what all sizes and begins here are multiples of.

    Attributes:
        begin, end: its first address, and the one behind its last.

    Raises:
        Refusal: the driver does not make one.
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
        """Let all addresses in front of one be used.

        Raises:
            Refusal: the driver does not let them.
        """
        begin = self._filled
        for address in range(begin, end, self._unit):
            self._call("cuMemMap", address, self._unit, 0, self._piece, 0)
            self._filled = address + self._unit
        if begin < self._filled:
            self._allow(begin, self._filled)

    def put(self, begin: int, size: int, memory: int) -> None:
        """Give addresses memory of their own; all in front of them can be used already.

        Args:
            memory: what :meth:`create` gave.

        Raises:
            Refusal: the driver does not put it there.
        """
        end = begin + size
        for address in range(begin, min(end, self._filled), self._unit):
            self._call("cuMemUnmap", address, self._unit)
        self._call("cuMemMap", begin, size, 0, memory, 0)
        self._allow(begin, end)
        self._filled = max(self._filled, end)

    def create(self, size: int) -> int:
        """Memory that has no address yet.

        Raises:
            Refusal: the device has not so much.
        """
        handle, wanted = ctypes.c_uint64(), _Properties(_PINNED, 0, _HERE)
        self._call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(wanted), 0)
        return handle.value

    def release(self, memory: int) -> None:
        """Give memory back that was put nowhere."""
        self._call("cuMemRelease", memory)

    def _allow(self, begin: int, end: int) -> None:
        access = _Access(_HERE, _READ_WRITE)
        self._call("cuMemSetAccess", begin, end - begin, ctypes.byref(access), 1)

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._cuda, name)(*arguments):
            raise Refusal(f"{name}: {meaning(self._cuda, status)}")
