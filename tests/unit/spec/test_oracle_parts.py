"""Oracles that judge a part of an output, or rows in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gi_cuda.spec.oracles import Exact, Oracle, OutputCheck, Tolerance, Unordered
from tests.unit.spec.test_oracle import right


@pytest.mark.parametrize("check", [Exact(), Tolerance(absolute=1e-3, relative=1e-4)])
@pytest.mark.parametrize(("name", "at"), [("real", 30), ("real", 640), ("whole", 999)])
def test_a_part_with_a_wrong_value_is_judged_as_the_whole_is(
    check: OutputCheck, name: str, at: int
) -> None:
    oracle, run = Oracle((check,)), right()
    reference = oracle.reference([run])
    broken = right()
    broken[name][at:] += 7000
    whole = oracle.judge({}, broken, reference)
    first = at // 64 * 64
    part = oracle.judge_part(name, first, broken[name][first : first + 64], reference)
    assert part.reason.split(" (")[0] == whole.reason.split(" (")[0]
    assert part.penalty == min(whole.penalty, first + 64 - at)


def test_a_part_with_nan_where_the_reference_has_none_is_wrong() -> None:
    oracle = Oracle((Tolerance(absolute=math.inf),))
    broken = right()["real"][960:]
    broken[5] = np.nan
    judged = oracle.judge_part("real", 960, broken, oracle.reference([right()]))
    assert judged.reason.startswith("real[965] is nan, expected ")


def test_rows_may_be_in_any_order_and_belong_together() -> None:
    first = {"key": np.array([3, 1, 2, 2], np.int32), "value": np.array([9.0, 8, 7, 7])}
    oracle = Oracle((Unordered(buffers=("key", "value")),))
    reference = oracle.reference([first])

    def judged(key: list[int], value: list[float]) -> float:
        outputs = {"key": np.array(key, np.int32), "value": np.array(value, np.float64)}
        return oracle.penalty({}, outputs, reference)

    assert judged([2, 2, 1, 3], [7, 7, 8, 9]) == 0
    assert judged([2, 2, 1, 3], [7, 8, 7, 9]) == 2  # (2, 7) once, and (1, 8)
    assert judged([2, 1, 1, 3], [7, 8, 8, 9]) == 1


def test_a_row_may_have_several_values() -> None:
    points = np.array([1, 2, 3, 4], np.float32)
    oracle = Oracle((Unordered(row=2),))
    reference = oracle.reference([{"point": points}])
    assert oracle.penalty({}, {"point": points[[2, 3, 0, 1]]}, reference) == 0
    judged = oracle.judge({}, {"point": points[[1, 0, 2, 3]]}, reference)
    assert judged.reason == "1 of the 2 rows of point are missing"
