"""Timings of copies of the reference against it, which show the noise of each device."""

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
from gi_cuda.evaluate.reference.faults import fault
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
"""Number of copies of the reference that are timed to find the noise floor."""

QUIETER = 2.0
"""Ratio to the noise of the quietest device above which a device is not used."""

PAIRS = 25
"""Pairs of launches for each copy, if launches are short."""

FEWEST = 6
"""Pairs of launches for each copy, at least, unless launches are slow."""

LONGEST = 1.5
"""Seconds for the pairs of one copy, including the work before and after each launch. It limits the
number of pairs above :data:`FEWEST`."""

SLOW = (2, 4)
"""Number of copies and of pairs for each, if even :data:`FEWEST` pairs take longer than
:data:`LONGEST`. Slow launches have little relative noise, and an interval needs four pairs."""

ATTEMPTS = 5
"""Attempts to time a copy without disturbance by other programs."""

LATEST = 10.0
"""Seconds after which no new attempt begins."""

FIRST_LIMIT = 120.0
"""Time limit of the reference itself, in seconds, before its time is known."""


@dataclass(frozen=True, slots=True)
class TimedCopies:
    """Timings of copies of the reference on one device.

    Attributes:
        found: timings that determine the noise floor.
        apart: timing of one more copy, which checks the floor.
    """

    found: tuple[Measurement, ...]
    apart: Measurement

    @property
    def spread(self) -> float:
        """Spread of the ratios of the copies that determine the noise floor."""
        return spread(ratios(one.samples) for one in self.found)

    @property
    def medians(self) -> tuple[float, ...]:
        """Median ratio to the reference of each copy that determines the noise floor."""
        return tuple(float(np.median(ratios(one.samples))) for one in self.found)

    @property
    def seconds(self) -> float:
        """The reference's median time over all timed cases, in seconds."""
        samples = [sample for one in (*self.found, self.apart) for sample in one.samples]
        case = attrgetter("case")
        by_case = groupby(sorted(samples, key=case), key=case)
        return sum(float(np.median([one.reference for one in some])) for _, some in by_case)


def time_copies(
    subject: Subject, pool: Pool[int], copies: Sequence[Program], program: Program
) -> list[TimedCopies]:
    """Time copies of the reference against it, on all devices at the same time, as in a search.

    Noisy copies are timed again, since a disturbance may be over. The quietest attempt of each copy
    counts. A much noisier device is not used if there are others.

    Args:
        copies: the copies; the last one is not used to find the noise floor.

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
    """Return the seconds of one pair of launches, from a copy that was verified twice and timed
    once.
    """
    launches = sum(one.reference for one in once.samples)
    return max(2 * launches, once.run_seconds - 2 * launches)


def noisy(spreads: Mapping[int, float]) -> list[int]:
    """Return the devices whose noise is so much larger than elsewhere that they are not used.

    A search would have to use the floor of the noisiest device.
    """
    quietest = min(spreads.values())
    return [one for one, spread in spreads.items() if spread > max(NOISY, QUIETER * quietest)]


def _timed_copies(measured: Sequence[Measurement]) -> TimedCopies:
    *found, apart = measured
    return TimedCopies(tuple(found), apart)


def _noise(copy: Measurement) -> float:
    """Return how much a copy seems to differ from the reference."""
    return spread([ratios(copy.samples)])


def _time(
    subject: Subject, pool: Pool[int], copy: Program, program: Program, pairs: int
) -> dict[int, Measurement]:
    """Time a copy of the reference against it on each device, without a limit on the total time.

    A device on which the copy fails is not used if there are others. The existing worker times it,
    as it times variants: a new worker would open the device meanwhile and disturb the times.
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
    """Return the measurement of a copy of the reference.

    Raises:
        UserError: there is none, or its outputs are wrong.
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
    """Return the noise floor from the ratios of copies, on the noisiest device.

    Raises:
        UserError: the noise is too large to detect any gain.
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
    """Return the verdict on the copies that were not used to find the floor.

    It is "same" if it is so on all devices, else the first other verdict.
    """
    found = [verdict_on_pairs(ratios(copies.apart.samples), floor) for copies in timed]
    return next((one for one in found if one is not Verdict.SAME), found[0])
