"""Copies of the reference timed against it: how well it can be timed on each device."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import Measure, Refused
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.faults import fault
from gi_cuda.results.measurement import Measurement
from gi_cuda.results.statistics import ratios
from gi_cuda.results.verdict import (
    MOST_FLOOR,
    NOISY,
    Verdict,
    noise_floor,
    spread,
    verdict_on_pairs,
)
from gi_cuda.subject import Subject

COPIES = 4
"""Copies of the reference that are timed against it to find the noise floor."""

QUIETER = 2.0
"""Times as noisy as the quietest device that one is without which a search is better off."""

PAIRS = 25
"""Pairs of launches for each of them, where these are short."""

FEWEST = 6
"""Pairs of launches, where these are not slow."""

LONGEST = 1.5
"""Seconds that the launches of one of them may take with more pairs than that, with what is done
before and after each."""

SLOW = (2, 4)
"""Copies that find the noise floor, and pairs of launches for each, where even :data:`FEWEST` take
longer: the noise of slow launches is a small part of them, and four pairs are the fewest that have
an interval."""

ATTEMPTS = 5
"""To time one of them quietly: something else may go on for a moment."""

LATEST = 10.0
"""Seconds after which no further attempt begins."""

FIRST_LIMIT = 120.0
"""Seconds the reference itself may take, before its time is known."""


@dataclass(frozen=True, slots=True)
class TimedCopies:
    """What copies of the reference measured as on one device.

    Attributes:
        found: by which the noise floor is found.
        apart: one that has no part in that.
    """

    found: tuple[Measurement, ...]
    apart: Measurement

    @property
    def spread(self) -> float:
        """How much those differ that find the noise floor."""
        return spread(ratios(one.samples) for one in self.found)

    @property
    def medians(self) -> tuple[float, ...]:
        """The median ratio to the reference of each of those."""
        return tuple(float(np.median(ratios(one.samples))) for one in self.found)

    @property
    def seconds(self) -> float:
        """The reference's median time over all cases that were timed."""
        samples = [sample for one in (*self.found, self.apart) for sample in one.samples]
        case = attrgetter("case")
        by_case = groupby(sorted(samples, key=case), key=case)
        return sum(float(np.median([one.reference for one in some])) for _, some in by_case)


def time_copies(
    subject: Subject, pool: Pool[int], copies: Sequence[Program], program: Program
) -> list[TimedCopies]:
    """Time copies of the reference against it, on all devices at a time, as a search does; those
    that differ much again, since what disturbed them may be over. Of each copy the quietest of its
    attempts on each device; devices on which they differ much are left where there are others.

    Args:
        copies: the last one has no part in finding the noise floor.

    Raises:
        UserError: the reference fails when it is repeated.
    """
    best: dict[int, dict[int, Measurement]] = {}
    once = _time(subject, pool, copies[0], program, 1)
    cost = max(map(_cost, once.values()))
    pairs = max(FEWEST, min(PAIRS, int(LONGEST / max(cost, 1e-9))))
    if FEWEST * cost > LONGEST:
        finding, pairs = SLOW
        copies = [*copies[:-1][:finding], copies[-1]]
    due = list(range(len(copies)))
    begun = time.monotonic()
    for _ in range(ATTEMPTS):
        for at in due:
            for device, mine in _time(subject, pool, copies[at], program, pairs).items():
                known = best.setdefault(device, {})
                known[at] = min(known.get(at, mine), mine, key=_noise)
        *found, _ = ([best[n][at] for n in pool.devices] for at in range(len(copies)))
        due = [at for at, mine in enumerate(found) if max(map(_noise, mine)) > NOISY]
        if not due or time.monotonic() - begun > LATEST:
            break
    timed = {n: _timed_copies([best[n][at] for at in range(len(copies))]) for n in pool.devices}
    for device in noisy({device: mine.spread for device, mine in timed.items()}):
        differ = f"{timed[device].spread:.0%}"
        said = f"copies of the reference differ there in speed by up to {differ}"
        pool.leave(device, UserError(f"{said}; does another program use it?"))
    return [timed[device] for device in pool.devices]


def _cost(once: Measurement) -> float:
    """The seconds that a pair takes, from a copy that was verified twice and timed in one pair."""
    launches = sum(one.reference for one in once.samples)
    return max(2 * launches, once.run_seconds - 2 * launches)


def noisy(spreads: Mapping[int, float]) -> list[int]:
    """The devices on which copies differ so much more than elsewhere that they are better left:
    what is certain is told by the noisiest."""
    quietest = min(spreads.values())
    return [one for one, spread in spreads.items() if spread > max(NOISY, QUIETER * quietest)]


def _timed_copies(measured: Sequence[Measurement]) -> TimedCopies:
    *found, apart = measured
    return TimedCopies(tuple(found), apart)


def _noise(copy: Measurement) -> float:
    """How much a copy seems to differ from the reference."""
    return spread([ratios(copy.samples)])


def _time(
    subject: Subject, pool: Pool[int], copy: Program, program: Program, pairs: int
) -> dict[int, Measurement]:
    """Time a copy of the reference against it on each device, however long that takes; one on which
    it fails is left where there are others.

    In the worker that is there, as variants are: fresh ones open the device meanwhile, and that
    would disturb the times.
    """
    sampling = Sampling(screen=pairs, most=pairs, limit=FIRST_LIMIT)
    found = {}
    for device, answer in pool.each(Measure(copy, program, sampling)).items():
        try:
            found[device] = _timed(subject, answer)
        except UserError as error:
            pool.leave(device, error)
    return found


def _timed(subject: Subject, answer: object) -> Measurement:
    """A measurement of a copy of the reference.

    Raises:
        UserError: there is none, or it is wrong.
    """
    if isinstance(answer, Lost | Refused):
        raise fault(subject, answer, "while it was timed")
    assert isinstance(answer, Measurement)
    if not answer.correct:
        raise UserError(
            f"the reference passes its oracle once and fails when repeated: {answer.message}",
            where=str(subject.target.source),
            hint="does it read what it wrote before, or an uninitialised buffer? If its results"
            " differ from run to run, use a sigma or tolerance oracle",
        )
    return answer


def floor_of(subject: Subject, timed: Sequence[TimedCopies]) -> float:
    """The noise floor that the ratios of copies show, on the device where it is largest.

    Raises:
        UserError: no gain could be told from so much noise.
    """
    floor = noise_floor(ratios(one.samples) for copies in timed for one in copies.found)
    if floor > MOST_FLOOR:
        raise UserError(
            f"copies of the reference differ in speed by up to {floor:.0%}, and so would any"
            " variant",
            where=str(subject.target.file),
            hint="is another program busy on the device or the processors? If not, make the train"
            " cases larger, so that a launch takes longer",
        )
    return floor


def verdict_of(timed: Sequence[TimedCopies], floor: float) -> Verdict:
    """What copies that had no part in finding the floor measured as: on all devices the same, or
    what it is on one where it is not."""
    found = [verdict_on_pairs(ratios(copies.apart.samples), floor) for copies in timed]
    return next((one for one in found if one is not Verdict.SAME), found[0])
