"""How far results may be off."""

import numpy as np
import pytest

from gi_cuda.capture.noise import allowed, coarsest, reals
from gi_cuda.grammar.frontends.cuda.element_types import Element, Member

VALUES = np.array([1.0, -200.0, np.nan, np.inf], np.float32)


def test_what_is_the_same_in_all_runs_may_be_rounded_otherwise() -> None:
    found = allowed("float32", [VALUES], [(VALUES, VALUES.copy())])
    assert found.relative == 1e-5
    assert found.absolute == pytest.approx(1e-6 * 200)
    assert "same bits" in found.why


def test_what_differs_from_run_to_run_is_allowed_several_times() -> None:
    other = VALUES + np.float32([0, 0.5, 0, 0])
    found = allowed("float32", [VALUES], [(VALUES, other)])
    assert found.absolute == pytest.approx(2.0)
    assert found.relative == pytest.approx(0.01)
    assert "5.0e-01 apart" in found.why


def test_without_runs_to_compare_that_is_said() -> None:
    found = allowed("float64", [VALUES.astype(np.float64)], [])
    assert found.relative == 1e-10
    assert "no two runs" in found.why


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
