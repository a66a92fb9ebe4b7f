"""Decision rules on single changes: worthwhile, affordable, interacting."""

from __future__ import annotations

import math

from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.results.verdict import LEAST_FLOOR

LEAST_GAIN = 0.01
"""Smallest gain that is worth an edit: one percent, the threshold of GEVO (Liou et al. 2020)."""


def pays(gain: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Tell whether a gain certainly exceeds the threshold."""
    return gain.low > 1 + threshold


def is_affordable(loss: SpeedUp, threshold: float = LEAST_GAIN, floor: float = LEAST_FLOOR) -> bool:
    """Tell whether a loss is small enough to ignore.

    Its value must be within the threshold, and the upper end of its interval within the threshold
    or the noise floor, whichever is larger.

    Args:
        loss: speed-up of the state before the change over the state after it.
        threshold: largest loss, as a fraction.
        floor: noise floor as a fraction.
    """
    return may_be_affordable(loss, threshold) and loss.high <= 1 + max(threshold, floor)


def may_be_affordable(loss: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Tell whether the value of a loss, regardless of its interval, is within the threshold."""
    return loss.value <= 1 + threshold


def interacts(factor: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Tell whether changes certainly interact.

    Args:
        factor: gain of the changes together, divided by the product of their separate gains.
        threshold: smallest deviation of the factor from 1, in either direction, that counts.
    """
    return pays(factor, threshold) or factor.high < 1 / (1 + threshold)


def may_interact(factor: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Tell whether changes seem to interact, but not with certainty; see :func:`interacts`."""
    beyond = abs(math.log(factor.value)) > math.log(1 + threshold)
    return beyond and not interacts(factor, threshold)
