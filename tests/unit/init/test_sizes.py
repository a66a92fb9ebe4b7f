"""Sizes of the data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.init.kernel.count_names import is_count_name
from gi_cuda.init.kernel.sizes import (
    Extent,
    elements,
    extents,
    is_looped,
    large_enough,
    rounds_down,
    small_enough,
)
from gi_cuda.spec.expression import parse


@pytest.mark.parametrize(
    ("bytes_", "size", "expected"),
    [
        ("n * 4", 4, "n"),
        ("(n * m * 8)", 8, "n * m"),
        ("((w * h) * 4)", 4, "w * h"),
        ("4 * (n + 1)", 4, "(n + 1)"),
        ("(1024 * 4)", 4, "1024"),
        ("4096", 4, "1024"),
        ("n * 4", 1, "n * 4"),
        ("n * 4", 8, None),
        ("n + 4", 4, None),
        ("4097", 4, None),
        ("a < b ? 4 : 8", 4, None),
    ],
)
def test_bytes_as_elements(bytes_: str, size: int, expected: str | None) -> None:
    assert elements(bytes_, size) == expected


@given(
    st.lists(st.sampled_from(["n", "m", "(n + 1)", "3", "(n * m)", "7"]), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
)
def test_elements_times_their_size_are_the_bytes(
    factors: list[str], size: int, bracketed: bool
) -> None:
    text = " * ".join([*factors, str(size)])
    found = elements(f"({text})" if bracketed else text, size)
    assert found is not None
    names = {"n": 11, "m": 13}
    assert parse(found).evaluate(names) * size == parse(text).evaluate(names)


@pytest.mark.parametrize(
    ("name", "compared", "counts"),
    [
        *(("n", False, True), ("numElements", False, True), ("width", False, True)),
        *(("imageW", True, True), ("radius", True, False), ("iterations", True, False)),
        *(("pitch", False, False), ("which", False, False)),
        *(("ksize", False, False), ("pad_w", True, False), ("num_kernels", False, True)),
        *(("nthreads", False, False), ("group_size", False, False)),
    ],
)
def test_names_that_count(name: str, compared: bool, counts: bool) -> None:
    assert is_count_name(name, compared=compared) is counts


def test_loops_over_all_the_data() -> None:
    assert is_looped("for (int j = 0; j < n; j++) {", "n")
    assert not is_looped("for (int j = i; j < n; j += stride) {", "n")


def test_kernels_that_compare_get_odd_sizes_and_others_get_whole_ones() -> None:
    common = {"taken": frozenset({"n"}), "constants": {}, "looped": False, "host": {}}
    (odd,) = extents(["n"], checked=True, least=None, **common)  # type: ignore[arg-type]
    (whole,) = extents(["n"], checked=False, least=None, **common)  # type: ignore[arg-type]
    assert odd.train % 32
    assert whole.train % 1024 == 0
    (own,) = extents([], checked=True, least=0, **common)  # type: ignore[arg-type]
    assert (own.name, own.passed) == ("elements", False)
    assert extents([], checked=True, least=None, **common) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("checked", [True, False])
def test_items_that_each_thread_goes_through_are_whole_tiles_unless_they_are_compared(
    checked: bool,
) -> None:
    (found,) = extents(
        ["n"],
        taken=frozenset(),
        constants={},
        checked=checked,
        looped=True,
        least=None,
        host={},
    )
    sizes = (found.train, found.held_out)
    assert all(bool(size % 128) == checked for size in sizes)
    assert max(sizes) < 1000


def test_tiles_of_all_the_data_are_all_the_data() -> None:
    assert is_looped("for (int base = 0; base < n; base += TILE) {", "n")
    assert not is_looped("for (int i = threadIdx.x; i < n; i += TILE) {", "n")


def test_grids_that_leave_out_the_rest_are_told_from_those_that_do_not() -> None:
    assert rounds_down("n / B", "n", {"B": 256})
    assert not rounds_down("(n + B - 1) / B", "n", {"B": 256})
    assert not rounds_down("80", "n", {})


def test_sizes_grow_until_there_is_a_block() -> None:
    (one,) = large_enough((Extent("n", True, 128, 64, 1024),), ["n / 512"], {})
    assert one.held_out // 512 == 1
    assert large_enough((one,), ["n / 512"], {}) == (one,)
    assert large_enough((one,), ["m / 512"], {}) == (one,)


def test_sizes_stay_where_no_larger_ones_give_one_of_everything() -> None:
    sizes = (Extent("n", True, 128, 64, 1024), Extent("m", True, 128, 64, 1024))
    assert large_enough(sizes, ["n / m", "m / n", "n / m / m"], {}) == sizes


def test_the_square_of_a_number_is_no_gigabyte() -> None:
    sizes = (Extent("nx", True, 10007, 7777, 1 << 20),)
    (one,) = small_enough(sizes, ["nx * (nx)", "nx", "nx * unknown"], {})
    assert (one.train, one.held_out, one.device) == (312, 243, 8192)
    assert small_enough(sizes, ["nx * channels"], {"channels": 3}) == sizes
    # A buffer that is the same whatever they are has no say.
    assert small_enough(sizes, ["1000000000", "nx"], {}) == sizes
    # Nothing is left to take away.
    (one,) = small_enough(sizes, ["nx + 1000000000"], {})
    assert (one.train, one.held_out, one.device) == (1, 1, 1)
