"""Oracles follow their formulas, for values of all kinds."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gi_cuda.spec.oracles import UNWRITTEN, Exact, Oracle, Sigma, Tolerance
from gi_cuda.spec.toml_file.key_types import MemberPlace

DTYPES = st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint64, np.uint8])


def near(pair: tuple[NDArray[Any], NDArray[Any], list[float]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The reference, and values some of which are the reference's or close to them."""
    want, got, factors = pair
    with np.errstate(all="ignore"):
        close = [
            g if math.isnan(factor) else type(g)(w + type(w)(factor) * w / 4)
            for w, g, factor in zip(want, got, factors, strict=True)
        ]
    return want, np.array(close, want.dtype)


REALS = st.sampled_from([np.float32, np.float64])
PAIRS = st.one_of(
    REALS.flatmap(
        lambda dtype: st.tuples(
            hnp.arrays(dtype, 6, fill=st.nothing()),
            hnp.arrays(dtype, 6, fill=st.nothing()),
            st.lists(
                st.sampled_from([math.nan, 0.0, 1e-6, -1e-6, 0.9, -0.9, 1.1]),
                min_size=6,
                max_size=6,
            ),
        )
    ).map(near),
    DTYPES.flatmap(lambda dtype: st.tuples(*[hnp.arrays(dtype, 6, fill=st.nothing())] * 2)),
    st.tuples(*[hnp.arrays(np.int64, 6, elements=st.integers(-9, 9))] * 2),
)


@given(PAIRS)
def test_exact_is_equality_bit_for_bit(pair: tuple[NDArray[Any], NDArray[Any]]) -> None:
    want, got = pair
    oracle = Oracle((Exact(),))
    expected = sum(
        a.tobytes() != b.tobytes() and not (a != a and b != b)
        for a, b in zip(got, want, strict=True)
    )
    assert oracle.penalty({}, {"x": got}, oracle.reference([{"x": want}])) == expected


@given(PAIRS, st.sampled_from([0.0, 0.5, 3.0]), st.sampled_from([0.0, 1e-6, 0.25]))
def test_tolerance_is_its_formula(
    pair: tuple[NDArray[Any], NDArray[Any]], absolute: float, relative: float
) -> None:
    want, got = pair

    def wrong(a: Any, r: Any) -> bool:
        a, r = a.item(), r.item()
        if isinstance(a, int):
            return not abs(a - r) <= absolute + relative * abs(r)
        if math.isfinite(a) and math.isfinite(r):
            return not abs(a - r) <= absolute + relative * abs(r)
        return not (a == r or (a != a and r != r))

    oracle = Oracle((Tolerance(absolute, relative),))
    expected = sum(wrong(a, r) for a, r in zip(got, want, strict=True))
    assert oracle.penalty({}, {"x": got}, oracle.reference([{"x": want}])) == expected


@given(
    st.lists(hnp.arrays(np.float64, 4, elements=st.floats(-1e6, 1e6)), min_size=2, max_size=6),
)
def test_sigma_uses_mean_and_sample_deviation(runs: list[NDArray[np.float64]]) -> None:
    oracle = Oracle((Sigma(runs=2),))
    spread = oracle.reference([{"x": run} for run in runs]).prepared[0]["x"]
    for index in range(4):
        values = [float(run[index]) for run in runs]
        assert spread.mean[index] == pytest.approx(statistics.mean(values), abs=1e-6)
        assert spread.std[index] == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_members_of_structs_are_judged_one_by_one() -> None:
    layout = np.dtype({"names": ["mass", "kind"], "formats": ["f4", "i4"], "itemsize": 12})
    items = np.zeros(5, layout)
    items["mass"], items["kind"] = 2, 100_000
    check = Tolerance(
        absolute=1e-3,
        relative=1e-3,
        item=layout.itemsize,
        members={
            "mass": MemberPlace(np.dtype("float32"), 0),
            "kind": MemberPlace(np.dtype("int32"), 4),
        },
    )

    def penalty(changed: NDArray[Any]) -> tuple[float, str]:
        oracle = Oracle((check,))
        reference = oracle.reference([{"bodies": items.view(np.uint8)}])
        found = oracle.judge({}, {"bodies": changed.view(np.uint8)}, reference)
        return found.penalty, found.reason

    assert penalty(items) == (0, "")
    close, wrong, padding = items.copy(), items.copy(), items.copy()
    close["mass"] += 0.002
    assert penalty(close)[0] == 0
    # What is close to a whole number is another one.
    wrong["kind"][3] += 1
    assert penalty(wrong)[0] == 1
    assert penalty(wrong)[1].startswith("bodies.kind[3] is 100001")
    wrong["mass"][1] = np.nan
    assert penalty(wrong)[0] == 2
    padding.view(np.uint8)[11::12] = 1
    assert penalty(padding)[0] == 0


@pytest.mark.parametrize("check", [Exact(), Tolerance(1e-3, 1e-3)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_nan_is_as_good_as_another_but_not_where_the_reference_wrote_nothing(
    check: Exact | Tolerance, kind: type
) -> None:
    """Contents of unset shared memory are not what ``out[i] = shared[i]`` may write."""
    words = np.dtype(kind).itemsize // 4
    unwritten, unset = (
        np.full(words, word, np.uint32).view(kind) for word in (UNWRITTEN, UNWRITTEN + 1)
    )
    assert not check.wrong(unwritten, unwritten).any()
    assert not check.wrong(unset, np.full(1, np.nan, kind)).any()
    assert check.wrong(unset, unwritten).all()
    three = np.full(1, 3, kind)
    assert (
        "a[0] is not written, expected 3" in check.judge({}, {"a": unwritten}, {"a": three}).reason
    )
    told = check.judge({}, {"a": three}, {"a": unwritten}).reason
    assert told == "a[0] is 3.0, expected not written (1 of 1 values wrong)"
