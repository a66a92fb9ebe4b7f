"""The runs of which one sample of a time is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

_SHORT = 2e-4
"""Seconds that the runs of one sample should take together."""

_MOST_REPEATS = 16

_OFTEN = 3
"""Runs of one sample of which the median leaves out a slow first one."""

_LASTING = 5e-3
"""Seconds of a run of which it is a small part to fetch what was in no cache."""

_LONG = 0.05
"""Seconds of wall time that they should take at most: the buffers of a short run may be large, and
are made anew before each."""

SLOW = 0.1
"""Seconds of a run from which on it needs no warming up: what a first run takes longer is a small
part of it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a case is timed.

    Attributes:
        repeats: so many runs in turn are one sample of a time, which is their median.
        warmed: whether each that takes part runs once before, which does not count: after another
            case, what the buffers hold is in no cache, or in the part of it that is near others.
    """

    repeats: int
    warmed: bool = False


def pace(seconds: float, whole: float = 0.0) -> Pace:
    """How a case is timed of which a run takes so long.

    Args:
        whole: seconds of wall time that one takes with what is done before and after it.
    """
    wanted = math.ceil(_SHORT / max(seconds, _SHORT / _MOST_REPEATS))
    most = min(_MOST_REPEATS, int(_LONG / max(whole, _LONG / _MOST_REPEATS)))
    repeats = max(1, min(wanted, most))
    return Pace(repeats, warmed=repeats < _OFTEN and seconds < _LASTING)
