"""Decision rules on measurements: faster or slower, certain or not, acceptable or not.

All other modules use these rules. Queries of the run database do not decide; they read the decision
that was stored with an evaluation. A ratio is variant / reference, so below 1 is faster; a speed-up
is the inverse. The noise floor is a fraction: ratios within 1 ± floor count as the same.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import numpy as np

from gi_cuda.results.measurement import LOADS, Sample
from gi_cuda.results.speed_up import REPEATED, SpeedUp
from gi_cuda.results.statistics import median_interval, ratio_interval, ratios, repeat_interval


class Verdict(StrEnum):
    """Speed of a variant relative to the reference."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCERTAIN = "uncertain"


# -- verdicts --------------------------------------------------------------------------------------

CONFIDENCE = 0.98
"""Confidence for the verdict "faster", which decides selection. It is high because sampling stops
as soon as it is reached."""

FAR = 50.0
"""Multiple of the noise floor beyond which no disturbance of a single pair reaches. Used only for
"slower"."""

CLEAR = 10.0
"""Multiple of the noise floor that exceeds any difference between processes. Used only for
"faster"."""

LOOSE = 0.85
"""Confidence for "slower" and "same", which decide nothing, and for confirming "faster". It is low
so that a short screening suffices."""


def verdict_on_pairs(values: np.ndarray, floor: float) -> Verdict:
    """Return the verdict on ratios from one process.

    "Faster" and "slower" require the whole interval on one side of the noise floor. There are two
    exceptions. If every pair is slower by more than `FAR` (50) times the noise floor, the verdict
    is "slower" without an interval. "Faster" also requires that the ratios beside each load of the
    reference are below the noise floor, because one load may be slow due to its address.

    Args:
        values: ratios, in the order in which they were measured.
        floor: noise floor as a fraction.
    """
    if len(values) and values.min() > 1 + FAR * floor:
        return Verdict.SLOWER
    strict, loose = ratio_interval(values, CONFIDENCE), median_interval(values, LOOSE)
    found = _verdict(strict, loose, floor)
    if found is Verdict.FASTER and not _beside_each_load(values, floor):
        return Verdict.UNCERTAIN
    return found


def verdict_of_confirmation(values: np.ndarray, floor: float) -> Verdict:
    """Return the verdict on a variant that was certainly faster in another process before.

    The verdict stays "faster" if the ratios of this process show it with the lower confidence
    `LOOSE`. Requiring the high confidence twice would reject too many small gains.

    Args:
        values: ratios of this process alone, in the order in which they were measured.
        floor: noise floor as a fraction.
    """
    high = ratio_interval(values, LOOSE)[1]
    if high < 1 - floor and _beside_each_load(values, floor):
        return Verdict.FASTER
    return verdict_on_pairs(values, floor)


def _beside_each_load(values: np.ndarray, floor: float) -> bool:
    """Tell whether the median ratio beside each load of the reference is below 1 - floor."""
    return all(float(np.median(values[at::LOADS])) < 1 - floor for at in range(LOADS))


def verdict_on_builds(builds: Sequence[Sequence[Sample]], floor: float) -> Verdict:
    """Return the verdict on pairs of times in several builds and processes.

    The verdict uses prediction intervals, so that a repetition with new builds would confirm it.
    """
    values = [ratios(samples) for samples in builds]
    return _verdict(repeat_interval(values, CONFIDENCE), repeat_interval(values, LOOSE), floor)


def _verdict(strict: tuple[float, float], loose: tuple[float, float], floor: float) -> Verdict:
    if strict[1] < 1 - floor:
        return Verdict.FASTER
    low, high = loose
    if low > 1 + floor:
        return Verdict.SLOWER
    return Verdict.SAME if 1 - floor <= low and high <= 1 + floor else Verdict.UNCERTAIN


# -- rewrites before the referee ----------------------------------------------------------------

JUDGED_FLOOR = 0.02
"""Smallest difference that `gi-cuda judge` reports, as a fraction. It is fixed, because a threshold
that is measured in each session would change verdicts between two runs."""

_BARS = (JUDGED_FLOOR, 0.03, 0.05, 0.1, 0.2)
"""Possible thresholds; the smallest that exceeds the machine's noise is used."""

FEWEST_ROUNDS, MOST_ROUNDS = 2, 8
"""Rounds of measurement before a rewrite is judged, and before it is called inconclusive."""


def bar_of(noise: Sequence[Sequence[Sample]]) -> float | None:
    """Return the threshold (a fraction) by which a rewrite must differ to be faster or slower.

    Args:
        noise: pairs of times of a copy of the reference, measured in the same rounds.

    Returns:
        The smallest of `_BARS` that exceeds the noise; None if the machine is too noisy.
    """
    low, high = repeat_interval([ratios(samples) for samples in noise], CONFIDENCE)
    return next((bar for bar in _BARS if 1 - bar < low and high < 1 + bar), None)


def verdict_of_rewrite(builds: Sequence[Sequence[Sample]], bar: float) -> Verdict:
    """Return the verdict on a rewrite; uncertain if more rounds may decide.

    Each verdict requires the whole prediction interval on its side of the threshold, with the high
    confidence `CONFIDENCE` that elsewhere only "faster" requires.
    """
    strict = repeat_interval([ratios(samples) for samples in builds], CONFIDENCE)
    return _verdict(strict, strict, bar)


# -- individuals of a search -----------------------------------------------------------------------

DISTURBED = 10.0
"""Multiple of the noise floor: a wider interval is due to a disturbance, not to noise."""

_PATIENT = 4
"""Largest number of pairs for a disturbed variant, as a multiple of the number for screening. The
interval of so many pairs excludes three outliers on one side."""

_WORTHWHILE = 1e-4
"""Seconds by which a launch must be slower than the reference's for one pair to be enough. Times of
shorter launches sometimes differ by more than their noise floor, and little would be saved."""


def interval_of_pairs(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of a ratio that is stored and shown; its upper end ranks individuals."""
    return ratio_interval(values)


def spread_of_interval(low: float | None, high: float | None) -> float:
    """Return the standard deviation that a 95 % interval implies; 0 without an interval."""
    return 0.0 if low is None or high is None else (high - low) / (2 * 1.96)


def is_selectable(verdict: Verdict | None) -> bool:
    """Tell whether an individual may become a parent or the winner.

    Args:
        verdict: the individual's verdict; None if its answers are not right.
    """
    return verdict is Verdict.FASTER


def is_step(child: float, parent: float) -> bool:
    """Tell whether a child seems faster than its parent by more than the least noise floor.

    Args:
        child, parent: upper end of each one's ratio.
    """
    return child < parent * (1 - LEAST_FLOOR)


def is_level(child: float, parent: float) -> bool:
    """Tell whether a child is not slower than its parent by more than the least noise floor.

    Args:
        child, parent: ratio of each.
    """
    return child <= parent * (1 + LEAST_FLOOR)


def clearly_below(floor: float) -> float:
    """Return the ratio below which a variant would be faster in any other process, too.

    The result is 0 if the noise is too large for that.
    """
    return max(0.0, 1 - CLEAR * floor)


def needs_confirmation(
    verdict: Verdict | None, high: float | None, floor: float, *, elsewhere: bool
) -> bool:
    """Tell whether an individual must be measured again, in another process.

    In one process the reference may be slow by chance, and all variants then look faster. So a
    parent must be faster in two processes, or by more than processes differ (`CLEAR`). It must also
    be right on the sibling cases.

    Args:
        verdict: verdict of the first measurement.
        high: upper end of the individual's ratio.
        floor: noise floor as a fraction.
        elsewhere: whether the individual ran on the sibling cases.
    """
    clear = high is not None and high < clearly_below(floor)
    return is_selectable(verdict) and not (clear and elsewhere)


def rank(ratio: float | None, high: float | None) -> float | None:
    """Return the sort key of individuals, the best first; None without a ratio.

    The key is the upper end of the ratio's interval, because among a thousand individuals some
    median looks good by luck.
    """
    return ratio if high is None else high


def is_settled(samples: Sequence[Sample], screen: int, floor: float) -> bool:
    """Tell whether a variant needs no more pairs.

    Before ``screen`` pairs, only a far slower variant is settled. After that, two kinds of variants
    are not settled: a variant that looks faster but not yet with certainty, and, up to `_PATIENT`
    times ``screen`` pairs, a variant whose pairs were disturbed.

    Args:
        samples: pairs of timed runs so far.
        screen: number of pairs for screening a variant.
        floor: noise floor as a fraction.
    """
    values = ratios(samples)
    verdict = verdict_on_pairs(values, floor)
    if len(values) < screen:
        more = sum(sample.variant - sample.reference for sample in samples) / len(samples)
        return more > _WORTHWHILE and verdict is Verdict.SLOWER
    if len(values) < _PATIENT * screen and _is_disturbed(values, floor):
        return False
    looks_faster = float(np.median(values)) < 1 - floor
    return not looks_faster or verdict is Verdict.FASTER


def _is_disturbed(values: np.ndarray, floor: float) -> bool:
    """Tell whether ratios scatter by more than noise.

    A variant with such ratios would be ranked by other activity on the machine.
    """
    low, high = interval_of_pairs(values)
    known = math.isfinite(high - low)
    return known and low < 1 - floor and high - low > DISTURBED * floor * float(np.median(values))


# -- noise -----------------------------------------------------------------------------------------

LEAST_FLOOR = 0.01
"""Smallest noise floor. Differences below one percent always count as noise."""

NOISY = 0.05
"""Difference between copies of the reference above which they are timed again."""

NOISIEST = 0.2
"""Noise floor above which any search is pointless."""

MOST_FLOOR = 0.5
"""Largest noise floor at which a gain can be told from noise."""


def spread(copies: Iterable[np.ndarray]) -> float:
    """Return the largest distance from 1 of an interval's end, over all copies of the reference.

    Args:
        copies: ratios copy / reference, one array for each copy.
    """
    return max(abs(bound - 1) for values in copies for bound in ratio_interval(values))


def noise_floor(copies: Iterable[np.ndarray]) -> float:
    """Return the noise floor that copies of the reference show, at least `LEAST_FLOOR`."""
    return max(LEAST_FLOOR, spread(copies))


def noise_floor_beside(floor: float, noise: SpeedUp) -> float:
    """Raise a noise floor to the speed-up of a copy of the reference in another session."""
    return max(floor, *(abs(bound - 1) for bound in (noise.low, noise.high)))


def is_too_noisy(floor: float, copy: Verdict) -> bool:
    """Tell whether the machine is too noisy for a search.

    Args:
        floor: noise floor as a fraction.
        copy: verdict on a copy of the reference.
    """
    return floor > NOISIEST or copy in (Verdict.FASTER, Verdict.SLOWER)


# -- after the search ------------------------------------------------------------------------------


def confidence_after(failed: int) -> float:
    """Return the confidence to ask of a candidate after others failed on the same held-out cases.

    The more candidates are measured, the likelier one of them seems faster by chance. Validation k
    has an error rate of α/(k(k+1)), so the sum over any number of validations is at most α (alpha
    spending: Lan and DeMets, Biometrika 70, 1983).

    Args:
        failed: number of candidates of this run that were right on those cases and not faster.
    """
    return 1 - (1 - REPEATED) / ((failed + 1) * (failed + 2))


def is_faster(overall: SpeedUp | None, noise: SpeedUp | None = None, floor: float = 0.0) -> bool:
    """Tell whether a whole interval lies above 1, above the noise and above the noise floor.

    Args:
        overall: speed-up of a variant on the held-out cases; None if the variant was not right.
        noise: speed-up of a copy of the reference in the same session.
        floor: noise floor of the run's baseline, as a fraction.
    """
    bars = (1 / (1 - floor), noise.high if noise else 1.0)
    return overall is not None and overall.low > max(bars)


def is_slower(overall: SpeedUp) -> bool:
    """Tell whether a whole interval lies below 1, by more than the least noise floor."""
    return overall.high < 1 / (1 + LEAST_FLOOR)


def is_acceptable(
    overall: SpeedUp | None, noise: SpeedUp, findings: Iterable[Collection[str]], floor: float = 0.0
) -> bool:
    """Tell whether a candidate may go upstream.

    The candidate must be right and faster beyond the noise, and no sanitizer may have a finding in
    it that the reference does not have.

    Args:
        overall: speed-up on the held-out cases; None if the candidate was not right.
        noise: speed-up of a copy of the reference in the same session.
        findings: new findings of each sanitizer.
        floor: noise floor of the run's baseline, as a fraction.
    """
    return is_faster(overall, noise, floor) and not any(findings)


def is_certainly_slower(one: SpeedUp | None, other: SpeedUp | None) -> bool:
    """Tell whether the first of two speed-ups of one measurement is certainly lower.

    Return False if one of them is unknown (None).
    """
    return one is not None and other is not None and one.high < other.low
