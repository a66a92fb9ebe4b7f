"""Devices that are noisier than others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import Measure
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.evaluate.reference.copies import ATTEMPTS, QUIETER, noisy, time_copies
from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.results.verdict import NOISY


def test_a_device_that_is_much_noisier_than_another_is_left() -> None:
    assert noisy({0: 0.004, 1: 2 * NOISY, 2: NOISY / 2}) == [1]


def test_where_all_are_noisy_all_are_used() -> None:
    assert noisy({0: 3 * NOISY, 1: 3 * NOISY * QUIETER}) == []
    assert noisy({0: 3 * NOISY}) == []


def test_one_that_is_quiet_enough_is_used_beside_one_that_is_quieter() -> None:
    assert noisy({0: NOISY / 100, 1: NOISY}) == []


class Scripted:
    """Workers of one device that answer, of each copy, with what it is to differ by in turn."""

    def __init__(
        self, *differences: list[float], seconds: float = 0.001, restoring: float = 0.0
    ) -> None:
        self.seconds, self.restoring = seconds, restoring
        self.devices = {0: None}
        self.asked: list[int] = []
        self.pairs: list[int] = []
        self._turns: list[Iterator[float]] = [iter(some) for some in differences]

    def each(self, request: Measure) -> dict[int, Measurement]:
        ident = request.variant.binary.ident
        self.asked.append(ident)
        self.pairs.append(request.sampling.most)
        off = next(self._turns[ident])
        samples = tuple(
            Sample("c", self.seconds * (1 + off * (-1) ** at), self.seconds)
            for at in range(request.sampling.most)
        )
        launches = 2 + 2 * request.sampling.most  # verified twice, and in pairs
        spent = launches * self.seconds + 2 * request.sampling.most * self.restoring
        return {0: Measurement(ident, Survival.NORMAL, 0.0, "", samples, spent, 0.0)}


def timed(pool: Scripted, copies: int) -> list[float]:
    """Return the deviation of each copy that measures the noise floor."""
    programs = [Program(Binary(at, Path("none"), None), {}, ("c",)) for at in range(copies)]
    (one,) = time_copies(cast(Any, None), cast(Any, pool), programs, programs[0])
    return [round(abs(copy.samples[0].variant / pool.seconds - 1), 6) for copy in one.found]


def test_a_copy_that_was_disturbed_is_timed_again_by_itself() -> None:
    loud = 3 * NOISY
    pool = Scripted([0.5, 0.001], [loud, loud, 0.002], [0.003], [0.0])
    assert timed(pool, 4) == [0.001, 0.002, 0.003]
    assert pool.asked == [0, 0, 1, 2, 3, 1, 1]  # the first time to see how long one takes


def test_of_one_that_is_never_quiet_the_quietest_counts() -> None:
    differences = [NOISY * factor for factor in (5, 3, 4, 6, 7)]
    pool = Scripted([0.5, 0.001], differences, [0.0])
    assert timed(pool, 3) == [0.001, round(3 * NOISY, 6)]
    assert pool.asked == [0, 0, 1, 2, *[1] * (ATTEMPTS - 1)]


def test_a_slow_reference_is_timed_in_fewer_pairs() -> None:
    for seconds, pairs in {0.001: 25, 0.05: 15, 0.12: 6}.items():
        pool = Scripted(*[[0.0, 0.0]] * 5, seconds=seconds)
        timed(pool, 5)
        assert pool.pairs == [1, *[pairs] * 5]


def test_a_short_one_whose_buffers_take_long_to_restore_as_well() -> None:
    pool = Scripted([0.0, 0.0], [0.0], [0.0], seconds=1e-5, restoring=0.075)
    timed(pool, 3)
    assert pool.pairs == [1, 9, 9, 9]


def test_of_one_that_takes_half_a_second_fewer_copies_are_timed() -> None:
    pool = Scripted(*[[0.0, 0.0]] * 5, seconds=0.5)
    assert timed(pool, 5) == [0.0, 0.0]
    assert pool.pairs == [1, 4, 4, 4]
