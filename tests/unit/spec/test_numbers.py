"""Floats that numpy lacks: codes and values, in buffers and for oracles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec import load_case, load_target
from gi_cuda.spec.numbers import SMALL_FLOATS, NumberType, in_memory
from gi_cuda.spec.oracles import Exact, Oracle, Tolerance

from .conftest import DATA, TARGET, Write

KINDS = sorted(SMALL_FLOATS)


@pytest.mark.parametrize("name", KINDS)
def test_each_code_comes_back(name: str) -> None:
    kind = SMALL_FLOATS[name]
    codes = np.arange(1 << kind.bits, dtype=kind.dtype)
    floats = kind.floats(codes)
    numbers = np.isfinite(floats)
    np.testing.assert_array_equal(kind.codes(floats[numbers]), codes[numbers])
    assert np.isinf(floats).sum() == 2 * kind.infinite
    finite = floats[: kind.most + 1]
    assert (np.diff(finite) > 0).all()


@pytest.mark.parametrize("name", KINDS)
def test_what_an_oracle_sees_lies_in_memory_as_it_did(name: str) -> None:
    kind = NumberType(name)
    small = SMALL_FLOATS[name]
    codes = np.arange(1 << small.bits, dtype=small.dtype)
    floats = small.floats(codes)
    again = in_memory(floats, kind)
    assert again.dtype == small.dtype
    numbers = ~np.isnan(floats)
    np.testing.assert_array_equal(again[numbers], codes[numbers])
    assert np.isnan(small.floats(again[~numbers])).all()


def test_known_numbers() -> None:
    def of(name: str, *codes: int) -> list[float]:
        kind = SMALL_FLOATS[name]
        return [float(one) for one in kind.floats(np.array(codes, kind.dtype))]

    assert of("bfloat16", 0x3F80, 0xC049, 0x7F80, 1) == [1.0, -3.140625, np.inf, 2.0**-133]
    assert of("float8_e4m3", 0x38, 0x7E, 0x01, 0xB8) == [1.0, 448.0, 2.0**-9, -1.0]
    assert of("float8_e5m2", 0x3C, 0x7B, 0x01, 0xFC) == [1.0, 57344.0, 2.0**-16, -np.inf]
    assert list(SMALL_FLOATS["float8_e5m2"].codes(np.array([1e9, -np.inf]))) == [0x7B, 0xFB]
    e4m3 = SMALL_FLOATS["float8_e4m3"]
    assert list(e4m3.codes(np.array([1e9, -np.inf, 464, np.nan]))) == [0x7E, 0xFE, 0x7E, 0x7F]
    assert list(SMALL_FLOATS["bfloat16"].codes(np.array([3.4e38, 1e40]))) == [0x7F80, 0x7F80]


@given(st.sampled_from(KINDS), st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_what_is_rounded_is_nearest(name: str, value: float) -> None:
    kind = SMALL_FLOATS[name]
    (code,) = kind.codes(np.array([value]))
    got = float(kind.floats(np.array([code], kind.dtype))[0])
    most = float(kind.floats(np.array([kind.most], kind.dtype))[0])
    if not np.isfinite(got) or abs(got) == most:
        assert abs(value) >= abs(float(kind.floats(np.array([kind.most - 1], kind.dtype))[0]))
        return
    assert np.signbit(got) == np.signbit(value)
    size = int(code) & (1 << (kind.bits - 1)) - 1
    off = abs(Fraction(got) - Fraction(value))
    for other in {max(0, size - 1), size + 1}:
        beside = float(kind.floats(np.array([other], kind.dtype))[0])
        further = abs(Fraction(beside) - abs(Fraction(value)))
        assert off < further or (off == further and size % 2 == 0) or other == size


@pytest.mark.parametrize(("name", "size"), [("bfloat16", 2), ("float8_e5m2", 1), ("int32", 4)])
def test_sizes(name: str, size: int) -> None:
    assert NumberType(name).dtype.itemsize == size


def test_a_case_gives_floats_or_codes(write: Write) -> None:
    begin = TARGET.index("[[buffer]]")
    declared = TARGET[begin:].replace('"float32"', '"bfloat16"', 2)
    target = load_target(write((TARGET[begin:], declared)))
    array = load_case(target, target.cases[0]).buffers["a"]
    assert array.dtype == np.uint16
    floats = SMALL_FLOATS["bfloat16"].floats(array)
    codes = DATA.replace("def case(", "def given(") + (
        "\n\ndef case(**args):\n    from gi_cuda.spec.numbers import SMALL_FLOATS\n"
        "    values = given(**args)\n"
        "    return {**values, 'a': SMALL_FLOATS['bfloat16'].codes(values['a'])}\n"
    )
    again = load_target(write((TARGET[begin:], declared), data=codes))
    np.testing.assert_array_equal(load_case(again, again.cases[0]).buffers["a"], array)
    assert np.isfinite(floats).all()


def test_oracles_see_floats() -> None:
    kind = SMALL_FLOATS["bfloat16"]
    types = {"out": NumberType("bfloat16")}
    want = {"out": kind.codes(np.array([1.0, -2.0, 100.0]))}
    near = {"out": kind.codes(np.array([1.0078125, -2.0, 100.0]))}
    tolerant, exact = Oracle((Tolerance(0.0, 0.01),), types), Oracle((Exact(),), types)
    assert tolerant.judge({}, near, tolerant.reference([want])).acceptable
    judgement = exact.judge({}, near, exact.reference([want]))
    assert judgement.reason.startswith("out[0] is 1.0078125, expected 1.0")
    nan = {"out": np.array([0x7FFF, 0xC000, 0x42C8], np.uint16)}
    assert not tolerant.judge({}, nan, tolerant.reference([want])).acceptable
