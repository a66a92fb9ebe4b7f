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

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.shadow import Shadow
from gi_cuda.backends.cuda.device.stretch import Refusal, Stretch
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


class Arena:
    """Memory for buffers, with the cushion before and behind all of it.

    What is taken is never given back: an arena lives as long as its context.

    Args:
        context: the worker's.

    Attributes:
        filling: address of the :data:`UNIT` bytes that lie behind all addresses of the cushion.
        shadow: of all that lies in the window.

    Raises:
        LaunchRefused: the driver does not make one.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        _, total = context.drv.mem_get_info()
        try:
            self._stretch = Stretch(BASE, BEFORE + _whole(total) + BEHIND, UNIT)
            self.filling = self._stretch.begin
            self._free = self._end = self.filling + BEFORE
            self._stretch.fill(self._end)
            self.shadow = Shadow(context, UNIT)
        except Refusal as refusal:
            raise LaunchRefused(
                f"the device makes no room for buffers: {refusal}", room=True
            ) from None

    def extend(self) -> None:
        """Take memory for small buffers; slow, and nothing that others would notice.

        Raises:
            LaunchRefused: see :meth:`allocate`.
        """
        self.allocate("buffers", UNIT)
        self._free = self._end - UNIT

    def allocate(self, what: str, size: int) -> int:
        """The address of so many bytes, aligned to 64 KiB. No confined code may access them yet.

        Raises:
            LaunchRefused: the device has not so much memory.
        """
        try:
            if self._free + size > self._end:
                self._extend(_whole(size))
        except Refusal as refusal:
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
        if end + BEHIND > self._stretch.end:
            raise Refusal("out of addresses")
        shadow = self.shadow.create(begin, size)
        try:
            memory = self._stretch.create(size)
        except Refusal:
            self.shadow.release(shadow)
            raise
        self.shadow.put(begin, size, shadow)
        self._stretch.put(begin, size, memory)
        self._free, self._end = begin, end
        self._stretch.fill(end + BEHIND)


def arena_supported() -> bool:
    """Whether the first device can have one; asked once the driver is initialised."""
    value = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(value), _SUPPORTED, 0)
    return status == 0 and bool(value.value)


def _whole(size: int) -> int:
    """So many bytes rounded up to units."""
    return -(-size // UNIT) * UNIT
