"""Shadow memory of the window: for each granule, how many of its bytes confined code may access.

See :mod:`gi_cuda.backends.cuda.ptx.confine`. Most of it is zero, and mapped to the same piece of
memory. It has memory of its own where the window has.
"""

from __future__ import annotations

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.stretch import Stretch
from gi_cuda.backends.cuda.ptx.addresses import BASE, GRANULE, SHADOW, SIZE


class Shadow:
    """The shadow memory at :data:`SHADOW`. All writes to it are in the context's stream.

    Args:
        context: the worker's context.
        unit: bytes of the window; memory comes in multiples of this.

    Attributes:
        there: whether it is at the address that confined code expects; else it does not exist.

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
        """Allocate shadow memory for a range of addresses; None if the range has no shadow.

        Raises:
            Refusal: the device has too little memory.
        """
        room = self._shadowed(begin, size)
        return self._stretch.create(room // GRANULE) if room else None

    def release(self, memory: int | None) -> None:
        """Free memory from :meth:`create` that was not mapped."""
        if memory is not None:
            self._stretch.release(memory)

    def put(self, begin: int, size: int, memory: int | None) -> None:
        """Map shadow memory for a range of addresses. None of them may be accessed yet.

        Args:
            memory: memory from :meth:`create`.

        Raises:
            Refusal: the driver refuses to map it.
        """
        if memory is not None:
            at, room = _place(begin), self._shadowed(begin, size) // GRANULE
            self._stretch.put(at, room, memory)
            self._drv.memset_d8_async(at, 0, room, self._stream)

    def let_in(self, begin: int, size: int) -> None:
        """Allow accesses to a range of addresses from now on. Does not wait.

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
        """Return how many bytes of a range have a shadow, counted from its begin."""
        if not self.there or begin < BASE:
            return 0
        return max(0, min(begin + size, BASE + SIZE) - begin)


def _place(address: int) -> int:
    """Return the address of the shadow of an address in the window."""
    return SHADOW + (address - BASE) // GRANULE
