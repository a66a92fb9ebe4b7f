"""Timing of unconfined builds after right rehearsals.

Starting a compiler costs half as much as compiling a variant, so several variants share a compiler.
But if few are right, as at the start of a search, waiting for more would delay the search.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

WORTH_BUILDING: Final = 1.0
"""Number of right rehearsals per compiler process after which they are built."""

WORTH_STARTING: Final = 0.5
"""Number of right rehearsals per idle compiler process after which they are built."""

LONGEST: Final = 6.0
"""Number of rehearsals per compiler process after which the right ones are built, even if few."""

FEW: Final = 0.25
"""Share of idle compilers below which they do not lead to an earlier build."""


class Compilers(Protocol):
    """Interface of the compiler processes; see
    :class:`gi_cuda.backends.protocol.variants.Compiler`.
    """

    @property
    def jobs(self) -> int: ...

    @property
    def idle(self) -> int: ...

    @property
    def disturbs(self) -> bool: ...


@dataclass(slots=True)
class Promotion:
    """The trials that were right in rehearsal and wait for their unconfined build.

    Attributes:
        compilers: build the trials.
        right: numbers of the trials.
    """

    compilers: Compilers
    right: list[int] = field(default_factory=list)
    _rehearsed: int = 0

    def rehearsed(self) -> None:
        """Count a finished rehearsal."""
        self._rehearsed += 1

    def due(self, trials: int, unbuilt: int, *, now: bool) -> list[int]:
        """Return the trials that are to be built now.

        Args:
            trials: number of trials in the batch.
            unbuilt: number of trials that are being built.
            now: whether to build without waiting: no rehearsal is left, or enough compilers are
                idle for speculative builds.
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
        """Return the number of trials that is worth a build."""
        compilers = self.compilers
        if compilers.disturbs:  # compile all of them before anything is timed
            return trials
        # Builds that were started just now will keep compilers busy soon.
        idle = min(compilers.idle, compilers.jobs - unbuilt)
        few = idle < FEW * compilers.jobs
        return WORTH_BUILDING * compilers.jobs if few else WORTH_STARTING * idle
