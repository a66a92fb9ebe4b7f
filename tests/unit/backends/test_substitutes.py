"""Substitutes for contents keep type and length, and are the same in each process."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.protocol.substitutes import Substitute
from gi_cuda.backends.workers.answering.comparing import why_overflown
from gi_cuda.spec.numbers import SMALL_FLOATS

REALS = np.random.default_rng(1).random(500).astype(np.float32)
INTEGERS = np.random.default_rng(1).integers(-1, 2, 500).astype(np.int32)

OF_REALS = [
    (Substitute.THOUSANDTH, lambda x: np.all(np.abs(x) < 2e-3)),
    (Substitute.THOUSANDFOLD_NEGATIVE, lambda x: np.all(x <= 0) and x.min() < -900),
    (Substitute.LOWERED, lambda x: np.all(x < -998)),
    (Substitute.BETWEEN, lambda x: 0 <= x.min() < x.max() <= 1 and list(x) != list(REALS)),
    (Substitute.SIGNED, lambda x: -1 <= x.min() < -0.5 and 0.5 < x.max() <= 1),
    (Substitute.PERMUTED, lambda x: sorted(x) == sorted(REALS) and list(x) != list(REALS)),
    (Substitute.REPEATED, lambda x: len({*x}) == 1 and x[0] in REALS),
    (Substitute.NEGATIVE_ZERO, lambda x: not x.any() and np.all(np.signbit(x))),
    (Substitute.SUBNORMAL, lambda x: np.all(np.abs(x) < np.finfo(np.float32).tiny) and x.any()),
    (Substitute.UNDEFINED, lambda x: 1 <= np.isnan(x).sum() < 25 and not np.isinf(x).any()),
    (Substitute.INFINITE, lambda x: np.isposinf(x).any() and np.isneginf(x).any()),
]
OF_INTEGERS = [
    (Substitute.INDICES, lambda x: x.min() >= 0 and x.max() < 500 and len({*x}) > 100),
    (Substitute.WHOLE_RANGE, lambda x: x.min() < -(2**28) and x.max() > 2**28),
    (Substitute.WHOLE_RANGE, lambda x: np.sum(np.abs(x) < 1000) > 50),
    (Substitute.BETWEEN, lambda x: {*x} == {-1, 0, 1} and list(x) != list(INTEGERS)),
    (Substitute.NOT_ZERO, lambda x: list(x) == list(INTEGERS)),
]


@pytest.mark.parametrize(("substitute", "holds"), OF_REALS)
def test_real_numbers(substitute: Substitute, holds: object) -> None:
    made = substitute.contents(REALS)
    assert (made.dtype, made.size) == (REALS.dtype, REALS.size)
    assert callable(holds)
    assert holds(made)
    assert made.tobytes() == substitute.contents(REALS).tobytes()


@pytest.mark.parametrize(("substitute", "holds"), OF_INTEGERS)
def test_integers(substitute: Substitute, holds: object) -> None:
    made = substitute.contents(INTEGERS)
    assert (made.dtype, made.size) == (INTEGERS.dtype, INTEGERS.size)
    assert callable(holds)
    assert holds(made)


def test_zeros_become_other_numbers() -> None:
    assert substitute_of(np.zeros(64, np.int32)).all()
    assert substitute_of(np.zeros(64, np.float64)).all()


def substitute_of(zeros: np.ndarray) -> np.ndarray:
    return Substitute.NOT_ZERO.contents(zeros)


def test_small_floats_are_taken_for_the_numbers_that_they_stand_for() -> None:
    kind = SMALL_FLOATS["bfloat16"]
    numbers = np.array([1.0, -2.0, 3.5, 0.25], np.float32)
    made = Substitute.FIVEFOLD.contents(kind.codes(numbers), kind)
    assert list(kind.floats(made)) == [5.0, -10.0, 17.5, 1.25]


def test_what_is_sorted_stays_sorted() -> None:
    """Begins of rows are, for instance."""
    begins = np.cumsum(np.ones(64, np.int32))
    assert Substitute.PERMUTED.contents(begins) is begins
    others = Substitute.BETWEEN.contents(begins)
    assert list(others) == sorted(others)
    assert list(others) != list(begins)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_integers_of_all_types(kind: type) -> None:
    """All bits are used."""
    made = Substitute.WHOLE_RANGE.contents(np.zeros(2000, kind))
    assert made.dtype == kind
    assert made.max() > np.iinfo(kind).max // 2
    assert made.min() < np.iinfo(kind).min // 2 or np.iinfo(kind).min == 0


def test_members_of_structs_become_others_one_by_one() -> None:
    structs = np.zeros(
        50, np.dtype([("kind", "i4"), ("price", "f4"), ("rate", "f4"), ("id", "u4")])
    )
    structs["kind"], structs["price"] = np.arange(50) % 2, np.linspace(90, 110, 50)
    structs["id"] = np.arange(50) + 70000
    made = Substitute.MEMBERS.contents(structs.view(np.uint8), item=16).view(structs.dtype)
    assert sorted(made["kind"]) == sorted(structs["kind"])
    assert sorted(made["id"]) == sorted(structs["id"])
    assert np.any(made["kind"] != structs["kind"])
    assert np.all((made["price"] > 40) & (made["price"] < 170))
    assert np.all((made["rate"] > 0) & (made["rate"] < 0.1))
    odd = structs.view(np.uint8)
    assert Substitute.MEMBERS.contents(odd, item=7) is odd


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (np.s_[:0], ""),
        (np.s_[::3], ""),
        (np.s_[1:], "place[1] is 6, expected 5"),
    ],
)
def test_most_of_many_integers_tell_a_limit_that_large_numbers_exceed(
    changed: slice, told: str
) -> None:
    right = {"place": np.full(64, 5, np.int32), "half": np.full(64, 5, np.uint16)}
    found = {name: array.copy() for name, array in right.items()}
    found["place"][changed] += 1
    found["half"] += 1
    assert why_overflown(found, right, {"place"}) == told


def test_of_real_numbers_an_infinite_one_tells() -> None:
    right = {"sum": np.array([1, np.inf, 3], np.float32)}
    found = {"sum": np.array([2, np.inf, np.inf], np.float32)}
    assert why_overflown(found, right, ()) == "sum[2] is inf, expected 3.0"
