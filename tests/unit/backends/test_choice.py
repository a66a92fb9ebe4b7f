"""Choice of GPUs, and the environment by which a worker sees one of them."""

from __future__ import annotations

from dataclasses import replace

from gi_cuda.backends.cuda.choice import VISIBLE, choose
from gi_cuda.backends.cuda.driver import Gpu

LARGE = Gpu("Large", (9, 0), 80 * 2**30, 132, 1980)
SMALL = Gpu("Small", (7, 5), 16 * 2**30, 40, 1590)


def test_all_of_one_kind_are_used() -> None:
    chosen = choose([LARGE, LARGE, LARGE], (), None)
    assert [one.number for one in chosen.devices] == [0, 1, 2]
    assert [one.environment[VISIBLE] for one in chosen.devices] == ["0", "1", "2"]
    assert chosen.left_out == ()


def test_where_there_is_one_nothing_is_chosen() -> None:
    (only,) = choose([LARGE], (), "3").devices
    assert only.environment == {}


def test_those_of_another_kind_are_left_out_and_named() -> None:
    chosen = choose([SMALL, LARGE, SMALL], (), None)
    assert [one.number for one in chosen.devices] == [0, 2]
    assert chosen.gpu is SMALL
    (said,) = chosen.left_out
    assert said.startswith("GPU 1 (Large, 132 multiprocessors")
    assert said.endswith("--devices 1")


def test_one_name_may_stand_for_several_kinds() -> None:
    slower = replace(LARGE, clock=1200)
    assert [one.number for one in choose([LARGE, slower], (), None).devices] == [0]


def test_those_that_are_asked_for_are_used_as_far_as_they_are_there() -> None:
    gpus = [SMALL, LARGE, LARGE]
    assert [one.number for one in choose(gpus, (2, 1), None).devices] == [1, 2]
    assert [one.number for one in choose(gpus, (1, 7), None).devices] == [1]
    assert [one.number for one in choose(gpus, (7,), None).devices] == [0]


def test_the_smallest_memory_counts() -> None:
    assert choose([LARGE, replace(LARGE, memory=2**30)], (), None).memory == 2**30


def test_numbers_count_among_those_that_are_visible() -> None:
    chosen = choose([LARGE, LARGE], (1,), "GPU-5f1, GPU-7a2")
    (only,) = chosen.devices
    assert only.environment == {VISIBLE: "GPU-7a2"}
