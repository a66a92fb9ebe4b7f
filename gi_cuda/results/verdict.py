"""What counts as faster, as sure and as accepted: the only place that decides it.

Everything else asks here, and no query of the run database decides either: it reads what was
decided when an evaluation was stored. A ratio is variant / reference, so that below 1 is faster; a
speed-up is the inverse. The noise floor is a fraction: ratios within 1 ± floor count as the same.
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
    """A variant's speed beside the reference's."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCERTAIN = "uncertain"


# -- verdicts --------------------------------------------------------------------------------------

CONFIDENCE = 0.98
"""For "faster", on which selection rests; high, because sampling stops when it is reached."""

FAR = 50.0
"""This multiple of the noise floor is beyond what disturbs a single pair. Only for "slower"."""

CLEAR = 10.0
"""This multiple of the noise floor is beyond what processes differ by. Only for "faster"."""

LOOSE = 0.85
"""For "slower" and "same", on which nothing rests; low, so that a short screening can tell. And for
"faster" where it only has to be confirmed."""


def verdict_on_pairs(values: np.ndarray, floor: float) -> Verdict:
    """The verdict on ratios from one process: certain only where the whole interval lies on one
    side.

    Far slower needs no interval: fifty times the noise floor, in every pair. Faster needs more than
    one: it must be so beside each load of the reference, since one may be slow where it lies.

    Args:
        values: in the order in which they were measured.
    """
    if len(values) and values.min() > 1 + FAR * floor:
        return Verdict.SLOWER
    strict, loose = ratio_interval(values, CONFIDENCE), median_interval(values, LOOSE)
    found = _verdict(strict, loose, floor)
    if found is Verdict.FASTER and not _beside_each_load(values, floor):
        return Verdict.UNCERTAIN
    return found


def verdict_of_confirmation(values: np.ndarray, floor: float) -> Verdict:
    """The verdict on ratios of what was certainly faster in another process before.

    It stays faster if it seems so here, too, with the confidence that is enough for all but
    "faster": to be certain twice would be asked too much of a small gain.

    Args:
        values: of this process alone, in the order in which they were measured.
    """
    high = ratio_interval(values, LOOSE)[1]
    if high < 1 - floor and _beside_each_load(values, floor):
        return Verdict.FASTER
    return verdict_on_pairs(values, floor)


def _beside_each_load(values: np.ndarray, floor: float) -> bool:
    """Whether ratios lie below the noise floor beside every load of the reference."""
    return all(float(np.median(values[at::LOADS])) < 1 - floor for at in range(LOADS))


def verdict_on_builds(builds: Sequence[Sequence[Sample]], floor: float) -> Verdict:
    """The verdict on pairs of times in several builds and processes: what others like it would say
    as well."""
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
"""What differs by less is the same to the referee. A fixed bar: one that each session found anew
would move between two runs, and verdicts with it."""

_BARS = (JUDGED_FLOOR, 0.03, 0.05, 0.1, 0.2)
"""The bars where the machine is noisier than the first of them."""

FEWEST_ROUNDS, MOST_ROUNDS = 2, 8
"""Rounds of measurement before a rewrite is judged, and until it is given up as inconclusive."""


def bar_of(noise: Sequence[Sequence[Sample]]) -> float | None:
    """Return how much a rewrite has to differ, by what a copy of the reference measured as in the
    same rounds; None where the machine is too noisy."""
    low, high = repeat_interval([ratios(samples) for samples in noise], CONFIDENCE)
    return next((bar for bar in _BARS if 1 - bar < low and high < 1 + bar), None)


def verdict_of_rewrite(builds: Sequence[Sequence[Sample]], bar: float) -> Verdict:
    """The verdict on a rewrite; uncertain where more rounds may tell.

    Each verdict needs the whole interval in which a second run would lie, with the confidence that
    otherwise "faster" alone needs.
    """
    strict = repeat_interval([ratios(samples) for samples in builds], CONFIDENCE)
    return _verdict(strict, strict, bar)


# -- individuals of a search -----------------------------------------------------------------------

DISTURBED = 10.0
"""An interval wider than this multiple of the noise floor is not due to noise."""

_PATIENT = 4
"""So many times the pairs that all get are given to what was disturbed. The interval of so many has
no place for three that are off on one side."""

_WORTHWHILE = 1e-4
"""Seconds that a launch must take more than the reference's, for one pair to be enough; the times
of shorter ones differ by more than their noise floor now and then, and little would be saved."""


def interval_of_pairs(values: np.ndarray) -> tuple[float, float]:
    """The interval of a ratio that is stored and shown; its upper end ranks individuals."""
    return ratio_interval(values)


def spread_of_interval(low: float | None, high: float | None) -> float:
    """The standard deviation that such an interval stands for; 0 without one."""
    return 0.0 if low is None or high is None else (high - low) / (2 * 1.96)


def is_selectable(verdict: Verdict | None) -> bool:
    """Whether an individual may become a parent or the winner; None: its answers are not right."""
    return verdict is Verdict.FASTER


def is_step(child: float, parent: float) -> bool:
    """Whether a child seems faster than what it was made of, by more than is ever taken for noise.

    Args:
        child, parent: what each one's ratio surely is at most.
    """
    return child < parent * (1 - LEAST_FLOOR)


def is_level(child: float, parent: float) -> bool:
    """Whether a child seems not to be slower than what it was made of.

    Args:
        child, parent: their ratios.
    """
    return child <= parent * (1 + LEAST_FLOOR)


def clearly_below(floor: float) -> float:
    """The ratio below which no other process would find a variant no faster; 0 where the noise is
    too much for that."""
    return max(0.0, 1 - CLEAR * floor)


def needs_confirmation(
    verdict: Verdict | None, high: float | None, floor: float, *, elsewhere: bool
) -> bool:
    """Whether an individual is to be measured again, in another process, before its verdict counts.

    One process may time all variants beside a reference that is slow there. What breeds must be
    faster in two, or by more than they differ; and it must be right on the siblings.

    Args:
        verdict: the first one.
        high: what its ratio surely is at most.
        elsewhere: whether it ran on the siblings.
    """
    clear = high is not None and high < clearly_below(floor)
    return is_selectable(verdict) and not (clear and elsewhere)


def rank(ratio: float | None, high: float | None) -> float | None:
    """What individuals are ordered by, the smallest first; None without a ratio.

    It is what the ratio surely is at most, since among a thousand some median looks good by luck.
    """
    return ratio if high is None else high


def is_settled(samples: Sequence[Sample], screen: int, floor: float) -> bool:
    """Whether more pairs of a variant are not worth their time.

    They are for those that look faster and are not yet certain to be, and for a while for those
    whose pairs were disturbed; after a few for all but those that are far slower.

    Args:
        screen: so many pairs all others get.
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
    """Whether pairs scatter by more than noise does, so that neither what may be faster nor by how
    much can be told from them: it would be ranked by what happened beside it."""
    low, high = interval_of_pairs(values)
    known = math.isfinite(high - low)
    return known and low < 1 - floor and high - low > DISTURBED * floor * float(np.median(values))


# -- noise -----------------------------------------------------------------------------------------

LEAST_FLOOR = 0.01
"""Differences below one percent are never taken for more than noise."""

NOISY = 0.05
"""Where copies of the reference differ more than that, they are timed again."""

NOISIEST = 0.2
"""A noise floor above this makes any search pointless."""

MOST_FLOOR = 0.5
"""Beyond that no gain could be told from noise."""


def spread(copies: Iterable[np.ndarray]) -> float:
    """How far from 1 the ratio of a copy of the reference to it may seem to be.

    Args:
        copies: the ratios of each.
    """
    return max(abs(bound - 1) for values in copies for bound in ratio_interval(values))


def noise_floor(copies: Iterable[np.ndarray]) -> float:
    """The noise floor that copies of the reference show."""
    return max(LEAST_FLOOR, spread(copies))


def noise_floor_beside(floor: float, noise: SpeedUp) -> float:
    """A noise floor with what a copy of the reference measured as in another session."""
    return max(floor, *(abs(bound - 1) for bound in (noise.low, noise.high)))


def is_too_noisy(floor: float, copy: Verdict) -> bool:
    """Whether a search would be pointless.

    Args:
        copy: what a copy of the reference measured as.
    """
    return floor > NOISIEST or copy in (Verdict.FASTER, Verdict.SLOWER)


# -- after the search ------------------------------------------------------------------------------


def confidence_after(failed: int) -> float:
    """Return the confidence to ask of a candidate after others failed on the same held-out cases.

    The more candidates are measured, the likelier one of them seems faster by chance. Look k may
    be wrong with chance α/(k(k+1)), so that all looks together are with chance α, however many
    there are (alpha spending: Lan and DeMets, Biometrika 70, 1983).

    Args:
        failed: candidates of this run that were right there and not faster.
    """
    return 1 - (1 - REPEATED) / ((failed + 1) * (failed + 2))


def is_faster(overall: SpeedUp | None, noise: SpeedUp | None = None, floor: float = 0.0) -> bool:
    """Return whether a whole interval lies above 1, above the noise and above the noise floor.

    Args:
        overall: of a variant on the held-out cases; None where it was not right.
        noise: what a copy of the reference measured as beside it.
        floor: the noise floor of the run's baseline, as a fraction.
    """
    bars = (1 / (1 - floor), noise.high if noise else 1.0)
    return overall is not None and overall.low > max(bars)


def is_slower(overall: SpeedUp) -> bool:
    """Tell whether a whole interval lies below 1, by more than the least noise floor."""
    return overall.high < 1 / (1 + LEAST_FLOOR)


def is_acceptable(
    overall: SpeedUp | None,
    noise: SpeedUp,
    findings: Iterable[Collection[str]],
    floor: float = 0.0,
) -> bool:
    """Return whether a candidate may go upstream: right, faster beyond the noise, and no sanitizer
    found anything in it that the reference does not do."""
    return is_faster(overall, noise, floor) and not any(findings)


def is_certainly_slower(one: SpeedUp | None, other: SpeedUp | None) -> bool:
    """Whether the first of two speed-ups of one measurement is the lower one for certain; not so
    where one of them is unknown."""
    return one is not None and other is not None and one.high < other.low


# -- single changes --------------------------------------------------------------------------------

LEAST_GAIN = 0.01
"""GEVO's threshold: what costs less than one percent is not worth an edit."""


def pays(gain: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Whether a gain certainly exceeds the threshold."""
    return gain.low > 1 + threshold


def is_affordable(loss: SpeedUp, threshold: float = LEAST_GAIN, floor: float = LEAST_FLOOR) -> bool:
    """Whether a loss does not matter: it seems to be within the threshold, and certainly is within
    the noise floor, or the threshold where that is larger.

    Args:
        loss: how many times as fast one was before.
    """
    return may_be_affordable(loss, threshold) and loss.high <= 1 + max(threshold, floor)


def may_be_affordable(loss: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Whether a loss seems to be within the threshold."""
    return loss.value <= 1 + threshold


def interacts(factor: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Whether a factor between what changes gain together and apart certainly lies beyond the
    threshold, in either direction."""
    return pays(factor, threshold) or factor.high < 1 / (1 + threshold)


def may_interact(factor: SpeedUp, threshold: float = LEAST_GAIN) -> bool:
    """Whether such a factor seems to lie beyond the threshold, and does not for certain."""
    beyond = abs(math.log(factor.value)) > math.log(1 + threshold)
    return beyond and not interacts(factor, threshold)
