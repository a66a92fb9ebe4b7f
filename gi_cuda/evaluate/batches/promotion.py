"""When those that were right in their rehearsal are built as they are.

Starting a compiler costs half of what a variant does, so several share one; but where few are
right, as when a search begins, they are what it waits for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

WORTH_BUILDING: Final = 1.0
"""Right rehearsals, for each compiler process, after which they are built."""

WORTH_STARTING: Final = 0.5
"""The same for each that has nothing to do."""

LONGEST: Final = 6.0
"""Rehearsals, for each compiler process, after which those that were right are built however few
they are."""

FEW: Final = 0.25
"""Share of the compilers that have nothing to do below which nothing is built on their account."""


class Compilers(Protocol):
    """What builds them; see :class:`gi_cuda.backends.protocol.variants.Compiler`."""

    @property
    def jobs(self) -> int: ...

    @property
    def idle(self) -> int: ...

    @property
    def disturbs(self) -> bool: ...


@dataclass(slots=True)
class Promotion:
    """Those that were right in their rehearsal, and are not being built yet.

    Attributes:
        compilers: are to build them.
        right: their numbers.
    """

    compilers: Compilers
    right: list[int] = field(default_factory=list)
    _rehearsed: int = 0

    def rehearsed(self) -> None:
        """It is known of one more how it rehearsed."""
        self._rehearsed += 1

    def due(self, trials: int, unbuilt: int, *, now: bool) -> list[int]:
        """Those that are to be built now, if any are.

        Args:
            trials: how many there are in the batch.
            unbuilt: how many of those that were to be built are not there yet.
            now: whether nothing is to be waited for: nothing rehearses any more, or compilers have
                so little to do that they build what was not right yet.
        """
        if not self.right:
            return []
        if not (now or len(self.right) >= self._enough(trials, unbuilt) or self._is_long()):
            return []
        found, self.right, self._rehearsed = self.right, [], 0
        return found

    def _is_long(self) -> bool:
        compilers = self.compilers
        return not compilers.disturbs and self._rehearsed >= LONGEST * compilers.jobs

    def _enough(self, trials: int, unbuilt: int) -> float:
        """How many are built together."""
        compilers = self.compilers
        if compilers.disturbs:  # it had better be done with it before anything is timed
            return trials
        # What was begun just now keeps compilers busy soon.
        idle = min(compilers.idle, compilers.jobs - unbuilt)
        few = idle < FEW * compilers.jobs
        return WORTH_BUILDING * compilers.jobs if few else WORTH_STARTING * idle
