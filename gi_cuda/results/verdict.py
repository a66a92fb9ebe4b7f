"""What counts as faster, as sure and as accepted: the only place that says so."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from gi_cuda.results.measurement import Sample
from gi_cuda.results.statistics import cluster_interval, median_interval, ratio_interval, ratios


class Verdict(StrEnum):
    """A variant's speed beside the reference's."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCERTAIN = "uncertain"


CONFIDENCE = 0.98
"""For "faster", on which selection rests; high, because sampling stops when it is reached."""


FAR = 50.0
"""This multiple of the noise floor is beyond what disturbs a single pair. Only for "slower"."""


LOOSE = 0.85
"""For "slower" and "same", on which nothing rests; low, so that a short screening can tell."""


def judge(values: np.ndarray, floor: float) -> Verdict:
    """The verdict on ratios: certain only where the whole interval lies on one side.

    Far slower needs no interval: fifty times the noise floor, in every pair.
    """
    if len(values) and values.min() > 1 + FAR * floor:
        return Verdict.SLOWER
    _, high = ratio_interval(values, CONFIDENCE)
    if high < 1 - floor:
        return Verdict.FASTER
    low, high = median_interval(values, LOOSE)
    if low > 1 + floor:
        return Verdict.SLOWER
    if low >= 1 - floor and high <= 1 + floor:
        return Verdict.SAME
    return Verdict.UNCERTAIN


def verdict(builds: Sequence[Sequence[Sample]], floor: float) -> Verdict:
    """The verdict on pairs of times in several builds, as certain as that on pairs in one (see
    :func:`gi_cuda.results.verdict.judge`).

    Args:
        floor: noise floor as a fraction.
    """
    values = [ratios(samples) for samples in builds]
    _, high = cluster_interval(values, confidence=CONFIDENCE)
    if high < 1 - floor:
        return Verdict.FASTER
    low, high = cluster_interval(values, confidence=LOOSE)
    if low > 1 + floor:
        return Verdict.SLOWER
    return Verdict.SAME if 1 - floor <= low and high <= 1 + floor else Verdict.UNCERTAIN
