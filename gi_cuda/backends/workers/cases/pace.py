"""Decide how many runs make one sample of a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

_SHORT = 2e-4
"""Seconds that the runs of one sample should take together."""

_MOST_REPEATS = 16

_OFTEN = 3
"""Number of runs from which their median ignores a slow first run."""

_LASTING = 5e-3
"""Seconds of a run from which cold caches matter little."""

_LONG = 0.05
"""Upper limit on the wall time of a sample in seconds: the buffers of a short run may be large, and
are restored before each run."""

SLOW = 0.1
"""Seconds of a run from which it needs no warm-up: the delay of a first run is a small part of
it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The runs by which a case is timed.

    Attributes:
        repeats: number of successive runs of one sample, which is their median.
        warmed: whether each program runs once before without being timed. After another case, the
            buffers' contents are in no cache.
    """

    repeats: int
    warmed: bool = False


def pace(seconds: float, whole: float = 0.0) -> Pace:
    """Return how a case is timed.

    Args:
        seconds: time of a run.
        whole: wall time of a run with all overhead, in seconds.
    """
    wanted = math.ceil(_SHORT / max(seconds, _SHORT / _MOST_REPEATS))
    most = min(_MOST_REPEATS, int(_LONG / max(whole, _LONG / _MOST_REPEATS)))
    repeats = max(1, min(wanted, most))
    return Pace(repeats, warmed=repeats < _OFTEN and seconds < _LASTING)
