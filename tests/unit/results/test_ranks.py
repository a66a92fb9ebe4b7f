"""Comparisons by ranks, beside scipy's and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.results.ranks import a12, holm, mann_whitney

FEW = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=12)
DIFFERENT = st.lists(st.floats(0.1, 10), min_size=2, max_size=16, unique=True)


def test_by_hand() -> None:
    assert a12([1, 2, 3], [0, 0]) == 1.0
    assert a12([1, 2], [1, 2]) == 0.5
    # Of the 20 orders of three and three values, one each is as far apart.
    assert mann_whitney([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
    assert mann_whitney([1.0] * 4, [1.0] * 4) == 1.0


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(FEW, FEW)
def test_with_ties_as_scipy(mine: list[float], theirs: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats")
    if len({*mine, *theirs}) > 1:
        theirs_p = stats.mannwhitneyu(mine, theirs, alternative="two-sided").pvalue
        assert mann_whitney(mine, theirs) == pytest.approx(theirs_p)


@given(DIFFERENT, st.integers(1, 15))
def test_without_ties_as_scipy(values: list[float], cut: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    mine, theirs = values[: cut % len(values) or 1], values[cut % len(values) or 1 :]
    found = stats.mannwhitneyu(mine, theirs, alternative="two-sided")
    assert mann_whitney(mine, theirs) == pytest.approx(found.pvalue)
    assert a12(mine, theirs) == pytest.approx(found.statistic / (len(mine) * len(theirs)))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_anything_smaller(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(after >= before for before, after in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    assert [corrected[at] for at in order] == sorted(corrected)
