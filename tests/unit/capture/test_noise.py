"""Tolerances of results, from captured runs."""

import numpy as np
import pytest

from gi_cuda.capture.noise import (
    ACCURACY,
    allowed,
    coarsest,
    in_another_order,
    passed_on,
    reals,
)
from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element, Member

VALUES = np.array([1.0, -200.0, np.nan, np.inf], np.float32)


def test_what_is_the_same_in_all_runs_may_be_rounded_otherwise() -> None:
    found = allowed("float32", [VALUES], [(VALUES, VALUES.copy())])
    assert found.relative == 1e-5
    assert found.absolute == pytest.approx(1e-5 * 200)
    assert "same bits" in found.why


def test_what_differs_from_run_to_run_is_allowed_several_times() -> None:
    other = VALUES + np.float32([0, 0.5, 0, 0])
    found = allowed("float32", [VALUES], [(VALUES, other)])
    assert found.absolute == pytest.approx(2.0)
    assert found.relative == pytest.approx(0.01)
    assert "5.0e-01 apart" in found.why


def test_values_that_are_only_moved_are_told_from_computed_ones() -> None:
    got = np.random.default_rng(1).normal(size=(60, 70)).astype(np.float32)
    before, flat = np.zeros(got.size, np.float32), got.reshape(-1)
    assert passed_on(before, got.T.reshape(-1), [flat[:7], flat])
    assert passed_on(before, np.maximum(flat, 0), [flat]), "zeros were there before"
    assert not passed_on(before, flat * np.float32(1.5), [flat])
    assert not passed_on(before, flat, [flat[1:]])
    few = (flat > 0).astype(np.float32)
    assert not passed_on(before, few, [few]), "too few values tell nothing"
    assert not passed_on(flat, flat, [flat]), "nothing was written"


def test_a_launch_that_changes_a_part_is_judged_by_that() -> None:
    got = np.random.default_rng(2).normal(size=5000)
    after = got.copy()
    after[::10] *= 3
    assert not passed_on(got, after, [got])


def test_without_runs_to_compare_that_is_said() -> None:
    found = allowed("float64", [VALUES.astype(np.float64)], [])
    assert found.relative == 1e-10
    assert "no other run to compare with" in found.why


def test_a_launch_that_changes_little_is_told_from_one_that_does_nothing() -> None:
    before = np.linspace(300, 400, 1000, dtype=np.float32)
    for change, narrower in [(1.0, False), (2e-3, True)]:
        after = before + np.float32(change)
        found = allowed("float32", [after], [(after, after)], [[before]])
        assert (found.relative < 1e-5) is narrower
        assert not found.exact
        assert found.tells(after, before)
        assert not found.tells(after, np.nextafter(after, np.float32(np.inf)))


def test_a_launch_that_changes_no_more_than_rounding_does_is_exact() -> None:
    before = np.linspace(300, 400, 1000, dtype=np.float32)
    after = np.nextafter(before, np.float32(np.inf))
    found = allowed("float32", [after], [], [[before]])
    assert found.exact
    assert "changes little" in found.why


def test_launches_that_change_nothing_say_nothing_of_what_is_allowed() -> None:
    values = np.append(np.linspace(300, 400, 1000, dtype=np.float32), VALUES[2:])
    found = allowed("float32", [values] * 3, [(values, values)], [[values], [values], []])
    assert found.relative == 1e-5


def test_launches_that_change_nothing_do_not_outvote_one_that_changes_little() -> None:
    before = np.linspace(300, 400, 1000, dtype=np.float32)
    after = before + np.float32(2e-3)
    found = allowed("float32", [before, before, after], [], [[before], [before], [before]])
    assert found.tells(after, before)


def test_half_of_the_launches_are_enough() -> None:
    before = np.linspace(300, 400, 1000, dtype=np.float32)
    much, little = before + np.float32(1), np.nextafter(before, np.float32(np.inf))
    for launches, narrower in [([much, little], False), ([much, little, little], True)]:
        found = allowed("float32", launches, [], [[before]] * len(launches))
        assert (found.relative < 1e-5) is narrower


def test_of_structs_the_real_numbers_count() -> None:
    layout = np.dtype([("id", "int32"), ("at", "float32", (2,)), ("mass", "float64")], align=True)
    items = np.zeros(3, layout)
    items["at"], items["mass"] = [[1, 2], [3, 4], [5, 6]], [7, 8, 9]
    fields = (
        Member("id", "int32", 1, 0),
        Member("at", "float32", 2, 4),
        Member("mass", "float64", 1, 16),
    )
    element = Element("uint8", layout.itemsize, fields=fields)
    found = reals(element, items.view(np.uint8))
    assert sorted(found) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert coarsest(element) == "float32"
    assert coarsest(Element("float64")) == "float64"


def test_small_floats_are_read_as_the_numbers_that_they_stand_for() -> None:
    codes = np.array([0x3F80, 0x4000, 0xBF80], np.uint16)
    assert list(reals(Element("bfloat16"), codes)) == [1.0, 2.0, -1.0]
    found = allowed("bfloat16", [reals(Element("bfloat16"), codes)], [])
    assert found.relative == ACCURACY["bfloat16"]


def test_small_floats_in_a_struct_are_found() -> None:
    element = Element("uint8", parts=4, fields=(Member("scale", "float8_e4m3", 2, 1),))
    items = np.array([9, 0x38, 0x40, 9], np.uint8)
    assert list(reals(element, items)) == [1.0, 2.0]
    assert coarsest(element) == "float8_e4m3"


def rows(*values: int) -> np.ndarray:
    return np.array(values, np.int32).view(np.uint8).reshape(-1, 4)


def test_buffers_whose_rows_move_together_are_appended_to() -> None:
    first = {"key": rows(1, 2, 3), "value": rows(7, 8, 9), "count": rows(3), "same": rows(5, 6, 7)}
    moved = {"key": rows(3, 1, 2), "value": rows(9, 7, 8)}
    assert in_another_order(first, [first | moved]) == [("key", "value")]
    apart = {"key": rows(3, 1, 2), "value": rows(8, 7, 9)}
    assert in_another_order(first, [first | apart]) == [("key",), ("value",)]


def test_what_changes_from_run_to_run_is_no_other_order() -> None:
    first = {"key": rows(1, 2, 3)}
    assert in_another_order(first, [{"key": rows(3, 2, 2)}]) == []
    assert in_another_order(first, [first]) == []
    assert in_another_order(first, []) == []


def test_what_large_answers_allow_does_not_hide_small_ones() -> None:
    small, large = np.array([0.5, 2.0]), np.array([1e60, 1.0])
    found = allowed("float64", [small, large], [])
    assert found.absolute < 1e-3 * 0.5
    noisy = allowed("float64", [small, large], [(large, large * (1 + 1e-9))])
    assert noisy.relative == pytest.approx(4e-9)
    assert noisy.absolute < 1e-3 * 0.5
    assert allowed("float64", [small, 50 * small], []).absolute == pytest.approx(1e-10 * 100)


@pytest.mark.parametrize(
    ("off", "relative"),
    [(1e-3, 1e-5), (1e-2, 2e-2 / 4e-3 * 1e-5), (1.0, 1e-5), (np.nan, 1e-5)],
)
def test_twice_the_error_of_the_answers_themselves_is_allowed(off: float, relative: float) -> None:
    """But not of answers that are far from those in double precision: that is no rounding."""
    exact = VALUES + np.array([0, off, 0, 0])
    found = allowed("float32", [VALUES], [], [], [(VALUES, exact)])
    assert found.relative == pytest.approx(relative)
    assert found.absolute == pytest.approx(200 * relative)


def test_a_few_answers_that_are_further_off_widen_no_other() -> None:
    """970 of 1000 values are off by 2e-5, which the tolerance becomes; the others by 9e-4."""
    answers = np.ones(1000, np.float32)
    exact = answers + 2e-5
    exact[:30] = 1 + 9e-4
    found = allowed("float32", [answers], [], [], [(answers, exact)])
    assert found.relative == pytest.approx(2e-5, rel=0.01)
    assert found.outside == pytest.approx(0.06)
    assert found.furthest * found.relative == pytest.approx(9e-4, rel=0.01)
