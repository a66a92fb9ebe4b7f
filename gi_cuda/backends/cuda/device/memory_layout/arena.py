"""Device memory inside a cushion: tens of gigabytes of addresses, all of which can be accessed.

A wrong index takes a variant gigabytes away from its buffers. In plain memory that is an illegal
access: the driver stops the whole device for 0.15 s, the context is lost with its process, and a
fresh context takes another 0.2 s. In the cushion, a read gives poison, and a write is detected
afterwards, like one into a guard zone. One small piece of memory is mapped to all these addresses.

Cases that give fitness are in an arena. Held-out cases are in plain memory, as in any program, so a
variant that gets away with a wild access here fails there.
"""

from __future__ import annotations

import ctypes

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.shadow import Shadow
from gi_cuda.backends.cuda.device.memory_layout.stretch import Refusal, Stretch
from gi_cuda.backends.cuda.ptx.addresses import BASE
from gi_cuda.backends.protocol.device import LaunchRefused

UNIT = 256 * 2**20
"""Bytes of the memory behind the cushion; all sizes here are multiples of it. Mapping takes the
driver 20 µs a unit, checking all of it 0.1 ms a variant."""

BEFORE = 16 * 2**30
"""Bytes before the first buffer: the reach of negative 32-bit indices of 8-byte elements. The
window of rehearsals has as many left for buffers."""

BEHIND = 32 * 2**30
"""Bytes after the last buffer: the reach of unsigned 32-bit indices of 8-byte elements."""

_ALIGNMENT = 64 * 1024

_SUPPORTED = 102  # CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED


class Arena:
    """Memory for buffers, with the cushion before and after all of it.

    Memory is never given back: an arena lives as long as its context.

    Args:
        context: the worker's context.

    Attributes:
        filling: address of the :data:`UNIT` bytes that are mapped to all addresses of the cushion.
        shadow: shadow memory of all buffers in the window.

    Raises:
        LaunchRefused: the driver refuses to make an arena.
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
        """Allocate memory for small buffers. This is slow, but does not disturb others.

        Raises:
            LaunchRefused: see :meth:`allocate`.
        """
        self.allocate("buffers", UNIT)
        self._free = self._end - UNIT

    def allocate(self, what: str, size: int) -> int:
        """Return the address of new memory, aligned to 64 KiB.

        Confined code must not access it before :meth:`.Shadow.let_in`.

        Args:
            what: its use, for messages.
            size: bytes.

        Raises:
            LaunchRefused: the device has too little memory.
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
        """Replace the begin of the cushion after the buffers by memory of its own."""
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
    """Tell whether the first device supports arenas. The driver has to be initialised."""
    value = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(value), _SUPPORTED, 0)
    return status == 0 and bool(value.value)


def _whole(size: int) -> int:
    """Round bytes up to units."""
    return -(-size // UNIT) * UNIT
