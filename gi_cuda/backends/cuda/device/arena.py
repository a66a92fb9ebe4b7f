"""Device memory in the middle of a cushion: tens of gigabytes of addresses that all can be used.

A wrong index takes a variant gigabytes away from its buffers. In plain memory that is an illegal
access: the driver stops the whole device for 0.15 s, the context is lost with its process, and a
fresh one takes another 0.2 s. In the cushion such a read gives poison, and such a write is found
afterwards, like one into a guard zone. Behind all of these addresses is one small piece of memory.

Cases that give fitness lie in an arena; held-out cases lie in plain memory, as in any program, so
what merely gets away with a wild access here fails there.
"""

from __future__ import annotations

import ctypes
from typing import Any

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.driver import meaning
from gi_cuda.backends.cuda.ptx.addresses import BASE
from gi_cuda.backends.protocol.device import LaunchRefused

UNIT = 256 * 2**20
"""Bytes of the memory behind the cushion, and what all sizes here are multiples of. Mapping takes
the driver 20 µs a unit, looking at all of it 0.1 ms a variant."""

BEFORE = 16 * 2**30
"""Bytes in front of the first buffer: what negative 32-bit indices of 8-byte elements reach. The
window of rehearsals has as many left for buffers."""

BEHIND = 32 * 2**30
"""Bytes behind the last one: what unsigned 32-bit indices of 8-byte elements reach."""

_ALIGNMENT = 64 * 1024

_SUPPORTED = 102  # CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
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


class _Refusal(Exception):
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


class Arena:
    """Memory for buffers, with the cushion before and behind all of it.

    What is taken is never given back: an arena lives as long as its context.

    Args:
        context: the worker's.

    Attributes:
        filling: address of the :data:`UNIT` bytes that lie behind all addresses of the cushion.

    Raises:
        LaunchRefused: the driver does not make one.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cuda = ctypes.CDLL("libcuda.so.1")
        for name, types in _SIGNATURES.items():
            getattr(self._cuda, name).argtypes = types
        begin = ctypes.c_uint64()
        _, total = context.drv.mem_get_info()
        size = BEFORE + _whole(total) + BEHIND
        try:
            # Where the system has something there already, it gives other addresses.
            self._call("cuMemAddressReserve", ctypes.byref(begin), size, 0, BASE, 0)
            self._limit = begin.value + size
            self._memory = self._create(UNIT)
            self._cushioned = begin.value
            self._cushion_to(begin.value + BEFORE)
        except _Refusal as refusal:
            raise LaunchRefused(
                f"the device makes no room for buffers: {refusal}", room=True
            ) from None
        self.filling = begin.value
        self._free = self._end = self._cushioned

    def extend(self) -> None:
        """Take memory for small buffers; slow, and nothing that others would notice.

        Raises:
            LaunchRefused: see :meth:`allocate`.
        """
        self.allocate("buffers", UNIT)
        self._free = self._end - UNIT

    def allocate(self, what: str, size: int) -> int:
        """The address of so many bytes, aligned to 64 KiB.

        Raises:
            LaunchRefused: the device has not so much memory.
        """
        try:
            if self._free + size > self._end:
                self._extend(_whole(size))
        except _Refusal as refusal:
            free, total = self._context.drv.mem_get_info()
            raise LaunchRefused(
                f"the device has no {size / 2**20:.1f} MiB for {what}:"
                f" {free / 2**20:.0f} of {total / 2**20:.0f} MiB are free ({refusal})",
                room=True,
            ) from None
        address = self._free
        self._free += -(-size // _ALIGNMENT) * _ALIGNMENT
        return address

    def _extend(self, size: int) -> None:
        """Put memory of its own where the cushion behind the buffers begins."""
        begin, end = self._end, self._end + size
        if end + BEHIND > self._limit:
            raise _Refusal("out of addresses")
        memory = self._create(size)
        for address in range(begin, min(end, self._cushioned), UNIT):
            self._call("cuMemUnmap", address, UNIT)
        self._call("cuMemMap", begin, size, 0, memory, 0)
        self._allow(begin, end)
        self._free, self._end = begin, end
        self._cushioned = max(self._cushioned, end)
        self._cushion_to(end + BEHIND)

    def _cushion_to(self, end: int) -> None:
        begin = self._cushioned
        for address in range(begin, end, UNIT):
            self._call("cuMemMap", address, UNIT, 0, self._memory, 0)
            self._cushioned = address + UNIT
        if begin < self._cushioned:
            self._allow(begin, self._cushioned)

    def _allow(self, begin: int, end: int) -> None:
        access = _Access(_HERE, _READ_WRITE)
        self._call("cuMemSetAccess", begin, end - begin, ctypes.byref(access), 1)

    def _create(self, size: int) -> int:
        handle, wanted = ctypes.c_uint64(), _Properties(_PINNED, 0, _HERE)
        self._call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(wanted), 0)
        return handle.value

    def _call(self, name: str, *arguments: Any) -> None:
        if status := getattr(self._cuda, name)(*arguments):
            raise _Refusal(f"{name}: {meaning(self._cuda, status)}")


def arena_supported() -> bool:
    """Whether the first device can have one; asked once the driver is initialised."""
    value = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(value), _SUPPORTED, 0)
    return status == 0 and bool(value.value)


def _whole(size: int) -> int:
    """So many bytes rounded up to units."""
    return -(-size // UNIT) * UNIT
