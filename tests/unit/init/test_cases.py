"""The cases of a proposal."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.cases import (
    Second,
    alike_padding,
    cases,
    every_case,
    padding,
    second_of,
)

FREE = (Extent("w", True, 121, 75, 1024), Extent("h", True, 90, 102, 1024))
WHOLE = (Extent("n", True, 8192, 4096, 1 << 20),)
FIXED = (Extent("n", False, 300, 300, 300),)


def test_two_cases_of_each_role_on_each_back_end_and_no_two_of_a_size() -> None:
    found = cases(FREE, second_of(FREE))
    assert [(one.name, one.role, one.device) for one in found] == [
        ("train", "train", False),
        ("train-2", "train", False),
        ("held-out", "held-out", False),
        ("held-out-2", "held-out", False),
        ("large", "train", True),
        ("large-2", "train", True),
        ("large-held-out", "held-out", True),
        ("large-held-out-2", "held-out", True),
    ]
    for axis in range(2):
        on_host = [one.sizes[axis] for one in found if not one.device]
        assert len(set(on_host)) == 4


@given(st.integers(2, 400), st.integers(2, 400))
def test_blocks_pad_held_out_sizes_as_they_pad_train_ones(train: int, held_out: int) -> None:
    found = alike_padding(train, held_out)
    off = [abs(math.log(padding(train, e) / padding(found, e))) for e in (8, 16, 32)]
    assert max(off) <= 0.05 or found == held_out
    assert max(off) <= 0.05 or train < 100
    assert found % 2 == 0 or train % 2 or held_out % 2


def test_a_block_of_8_gains_nothing_by_padding_on_the_train_case_alone() -> None:
    for held_out in (30, 28):
        found = alike_padding(39, held_out)
        gains = [(padding(n, 16) / padding(n, 8)) ** 2 for n in (39, found)]
        assert gains[0] == pytest.approx(gains[1], rel=0.05)
        assert found != 39


def test_the_second_case_has_about_half_of_the_data_in_odd_sizes() -> None:
    first, second = (one.sizes for one in cases(FREE, Second.ODD)[:2])
    assert all(size % 2 for size in second)
    assert 0.4 < math.prod(second) / math.prod(first) < 0.6


@pytest.mark.parametrize(
    ("alike", "second"),
    [
        ((1024, 1024), Second.ODD),
        ((1024, 1024), Second.WHOLE),
        ((128, 128, 128), Second.ODD),
        ((64, 16, 64), Second.WHOLE),
        ((16, 16), Second.WHOLE),
    ],
)
def test_sizes_that_are_alike_are_none_in_the_second_case(
    alike: tuple[int, ...], second: Second
) -> None:
    extents = [Extent("n", True, 40 + i, 30 + i, size) for i, size in enumerate(alike)]
    found = {one.name: one.sizes for one in cases(extents, second)}
    assert found["large"] == alike
    assert len(set(found["large-2"])) == len(alike)
    assert 0.25 < math.prod(found["large-2"]) / math.prod(alike) < 0.6


def test_less_of_the_largest_size_is_of_whole_blocks_still() -> None:
    extents = (Extent("w", True, 64, 32, 1024), Extent("h", True, 32, 96, 1024), *FIXED)
    found = {one.name: one.sizes for one in cases(extents, Second.FEWER)}
    assert found["train-2"] == (32, 32, 300)
    assert found["held-out-2"] == (32, 64, 300)
    assert found["large-2"] == (512, 1024, 300)


def test_what_was_free_is_so_where_it_was_doubled() -> None:
    doubled = [Extent(one.name, True, 2 * one.train, 2 * one.held_out, 4096) for one in FREE]
    assert second_of(doubled) is Second.ODD


def test_sizes_that_are_multiples_are_so_in_the_second_case() -> None:
    assert second_of(WHOLE) is Second.WHOLE
    assert [one.sizes for one in cases(WHOLE, Second.WHOLE)[:4]] == [
        (8192,),
        (4096,),
        (4096,),
        (2048,),
    ]


def test_what_all_first_cases_share_stays_and_a_gpu_has_the_cases_of_the_host() -> None:
    found = cases(FIXED, second_of(FIXED))
    assert [one.sizes for one in found] == [(300,)] * 4
    assert not any(one.device for one in found)


def test_a_number_of_blocks_is_no_size_of_data() -> None:
    blocks = Extent("blocks", False, 8, 4, 4096, blocks=True)
    assert cases((*WHOLE, blocks), Second.ODD)[1].sizes == (4097, 8)


@given(
    st.lists(
        st.builds(
            Extent,
            st.just("n"),
            st.booleans(),
            st.integers(1, 5000),
            st.integers(1, 5000),
            st.integers(1, 1 << 20),
        ),
        max_size=4,
    ),
    st.sampled_from(Second),
)
def test_a_second_case_has_something_and_no_more_than_the_first(
    extents: list[Extent], second: Second
) -> None:
    found = {one.name: one for one in every_case(extents, second)}
    assert len(found) == (4 if second is Second.NONE else 8)
    for name, one in found.items():
        first = found[name.removesuffix("-2")].sizes
        assert all(1 <= less <= size for less, size in zip(one.sizes, first, strict=True))


def test_what_is_the_same_on_the_host_is_so_on_a_gpu() -> None:
    block, free = Extent("block", True, 256, 256, 256), Extent("n", True, 512, 256, 1024)
    found = cases((block, free), Second.WHOLE)
    assert {one.sizes[0] for one in found} == {256}
    assert len({one.sizes[1] for one in found if one.device}) > 1
