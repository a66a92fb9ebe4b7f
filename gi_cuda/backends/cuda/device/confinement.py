"""Launches of confined code: their deadline, and the signs of what they would have done otherwise.

See :mod:`gi_cuda.backends.cuda.ptx.confine`. Code as it is leaves one of these signs, too, where a
loop's guard ends it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory import MemoryCheck
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
"""What each sign stands for; of several the first one counts that is not overlooked."""


class Confinement:
    """Where confined code finds its deadline and leaves its signs.

    Args:
        context: the worker's.
        helpers: module of the tool's own kernels.
    """

    def __init__(self, context: Context, helpers: Any) -> None:
        self._context = context
        self._begin = context.function(helpers, "gi_begin", 0)
        self._signs = [MemoryCheck(SIGNS[kind], 4) for kind in _FATES]

    def signs(self, control: int, *, confined: bool) -> Sequence[MemoryCheck]:
        """Checks for the signs that launches may leave.

        Args:
            control: as for :meth:`begin` and :meth:`watch`.
        """
        if control != CONTROL:
            return ()
        return self._signs if confined else self._signs[:1]

    def begin(self, control: int, limit: float, *, shadowed: bool) -> None:
        """From now on confined launches have so many seconds. Does not wait.

        Args:
            control: address of what was set aside for this.
            shadowed: whether the shadow of the window is there.

        Raises:
            LaunchRefused: one of them is not where confined code looks for it.
        """
        if control != CONTROL or not shadowed:
            raise LaunchRefused("the driver gives no memory where confined code needs it")
        arguments = struct.pack("@PQII", control, int(limit * 1e9), len(SIGNS), POISON)
        self._context.launch(self._begin, (1, 1, 1), (1, 1, 1), arguments)

    def watch(self, control: int) -> None:
        """From now on launches of code as it is may leave the sign of its guards. Does not wait.

        Args:
            control: as for :meth:`begin`; anywhere else nothing is looked at, and a guard's sign is
                an illegal access.
        """
        if control == CONTROL:
            self._context.drv.memset_d32_async(SIGNS[_LATE], POISON, 1, self._context.stream)

    def fates(self, failing: Sequence[int]) -> tuple[Fate, ...]:
        """What the signs say; ``failing`` are the indices of the checks that fail."""
        return tuple(fate for at, fate in enumerate(_FATES.values()) if at in failing)
