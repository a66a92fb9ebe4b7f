"""Launches of confined code: their deadline, and the signs of what they would have done otherwise.

See :mod:`gi_cuda.backends.cuda.ptx.confine`. Normal code leaves one of these signs, too, when a
loop's guard ends it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory_layout.memory import MemoryCheck
from gi_cuda.backends.cuda.ptx.harmless import CONTROL, SIGNS
from gi_cuda.backends.protocol.device import POISON, Fate, LaunchRefused
from gi_cuda.results.measurement import Survival

GRACE = 1.0
"""Seconds past the deadline after which launches are given up: some code was not confined."""

_LATE = "late"
_FATES: Mapping[str, Fate] = {
    _LATE: Fate(_LATE, Survival.HUNG, "over its time limit, or a loop's"),
    "strayed": Fate("strayed", Survival.CRASHED, "an access far from all memory of its own"),
    "parted": Fate("parted", Survival.HUNG, "a barrier that not all threads of a warp reach"),
    "unnamed": Fate(
        "unnamed", Survival.CRASHED, "a thread in an operation of its warp whose mask lacks it"
    ),
    "alone": Fate("alone", Survival.HUNG, "waits for threads of its warp that went elsewhere"),
    "beside": Fate("beside", Survival.CRASHED, "an access just beside a buffer"),
}
"""The meaning of each sign. Of several signs, the first one counts that is not overlooked."""


class Confinement:
    """Sets the deadline of confined code and reads its signs.

    Args:
        context: the worker's context.
        helpers: module of the tool's own kernels.
    """

    def __init__(self, context: Context, helpers: Any) -> None:
        self._context = context
        self._begin = context.function(helpers, "gi_begin", 0)
        self._signs = [MemoryCheck(SIGNS[kind], 4) for kind in _FATES]

    def signs(self, control: int, *, confined: bool) -> Sequence[MemoryCheck]:
        """Return checks for the signs that launches may leave.

        Args:
            control: see :meth:`begin` and :meth:`watch`.
        """
        if control != CONTROL:
            return ()
        return self._signs if confined else self._signs[:1]

    def begin(self, control: int, limit: float, *, shadowed: bool) -> None:
        """Set the deadline of confined launches to ``limit`` seconds from now. Does not wait.

        Args:
            control: address of the control block.
            shadowed: whether the window has a shadow.

        Raises:
            LaunchRefused: control block or shadow is not where confined code expects it.
        """
        if control != CONTROL or not shadowed:
            raise LaunchRefused("the driver gives no memory where confined code needs it")
        arguments = struct.pack("@PQII", control, int(limit * 1e9), len(SIGNS), POISON)
        self._context.launch(self._begin, (1, 1, 1), (1, 1, 1), arguments)

    def watch(self, control: int) -> None:
        """Clear the sign that guards of normal code may leave. Does not wait.

        Args:
            control: see :meth:`begin`; with another address nothing is checked, and a guard's sign
                is an illegal access.
        """
        if control == CONTROL:
            self._context.drv.memset_d32_async(SIGNS[_LATE], POISON, 1, self._context.stream)

    def fates(self, failing: Sequence[int]) -> tuple[Fate, ...]:
        """Return the fates for signs; ``failing`` are the indices of failing checks."""
        return tuple(fate for at, fate in enumerate(_FATES.values()) if at in failing)
