"""The shadow of the window: for each granule how many of its bytes confined code may access.

See :mod:`gi_cuda.backends.cuda.ptx.confine`. Most of it is zero and the same piece of memory; it
has memory of its own where the window has.
"""

from __future__ import annotations

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.stretch import Stretch
from gi_cuda.backends.cuda.ptx.addresses import BASE, GRANULE, SHADOW, SIZE


class Shadow:
    """What lies at :data:`SHADOW`. All of it is set in the context's stream.

    Args:
        context: the worker's.
        unit: bytes of the window that memory is a multiple of.

    Attributes:
        there: whether it lies where confined code looks for it; else there is none.

    Raises:
        Refusal: the driver has no memory for it.
    """

    def __init__(self, context: Context, unit: int) -> None:
        self._drv = context.drv
        self._stream = context.stream
        self._stretch = Stretch(SHADOW, SIZE // GRANULE, unit // GRANULE)
        self.there = self._stretch.begin == SHADOW
        if self.there:
            self._stretch.fill(self._stretch.end)
            self._drv.memset_d8_async(SHADOW, 0, unit // GRANULE, self._stream)

    def create(self, begin: int, size: int) -> int | None:
        """Memory for what shadows a stretch of memory; None where it has no shadow.

        Raises:
            Refusal: the device has not so much.
        """
        room = self._shadowed(begin, size)
        return self._stretch.create(room // GRANULE) if room else None

    def release(self, memory: int | None) -> None:
        """Give back what was created, and put nowhere."""
        if memory is not None:
            self._stretch.release(memory)

    def put(self, begin: int, size: int, memory: int | None) -> None:
        """Let a stretch of memory have a shadow of its own, in which nothing may be accessed.

        Args:
            memory: what :meth:`create` gave for it.

        Raises:
            Refusal: the driver does not put it there.
        """
        if memory is not None:
            at, room = _place(begin), self._shadowed(begin, size) // GRANULE
            self._stretch.put(at, room, memory)
            self._drv.memset_d8_async(at, 0, room, self._stream)

    def let_in(self, begin: int, size: int) -> None:
        """From now on these bytes may be accessed. Does not wait.

        Args:
            begin: a multiple of :data:`GRANULE`.
        """
        whole, rest = divmod(self._shadowed(begin, size), GRANULE)
        at = _place(begin)
        if whole:
            self._drv.memset_d8_async(at, GRANULE, whole, self._stream)
        if rest:
            self._drv.memset_d8_async(at + whole, rest, 1, self._stream)

    def _shadowed(self, begin: int, size: int) -> int:
        """How many of so many bytes have a shadow, from the first on."""
        if not self.there or begin < BASE:
            return 0
        return max(0, min(begin + size, BASE + SIZE) - begin)


def _place(address: int) -> int:
    """Where the shadow of an address of the window lies."""
    return SHADOW + (address - BASE) // GRANULE
