"""Samples of a grid's blocks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

RAN = """
__global__ void k(int *out) {
  if (threadIdx.x == 0) out[blockIdx.x + gridDim.x * blockIdx.y] += 1;
}"""


@pytest.mark.parametrize(
    ("blocks", "threads", "sample", "expected"),
    [
        (1000, 64, 64 * 20, 20),
        (17, 64, 1, 8),  # never fewer
        (15, 64, 1, 15),  # half of all at most
        (1000, 1024, 1024 * 11, 10),  # pairs
        (1000, 64, 64 * 1000, 1000),
        (1000, 64, 0, 1000),
    ],
)
def test_a_sample_of_blocks_is_pairs_spread_over_the_grid(host, blocks, threads, sample, expected):
    out = np.zeros(blocks, np.int32)
    ran = host.run(RAN, {"out": out}, (blocks,), (threads,), sample=sample).outputs["out"]
    chosen = np.flatnonzero(ran)
    assert (len(chosen), ran.max()) == (expected, 1)
    assert {0, 1, blocks - 2, blocks - 1} <= set(chosen)
    assert all({at - 1, at + 1} & set(chosen) for at in chosen)
    assert np.diff(chosen).max() <= 4 * blocks // expected


def test_a_sample_is_the_same_in_all_orders_of_blocks(host):
    out = np.zeros(600, np.int32)
    ran = host.run(RAN, {"out": out}, (30, 20), (32,), sample=32 * 12).outputs["out"]
    assert list(np.flatnonzero(ran)) == [0, 1, 130, 131, 223, 224, 366, 367, 445, 446, 598, 599]


def test_blocks_of_a_sample_meet_at_the_barrier_of_the_grid(host):
    text = """
#include <cooperative_groups.h>
__global__ void k(int *out) {
  if (threadIdx.x == 0) atomicAdd(out, 1);
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) out[1 + blockIdx.x] = *out;
}"""
    outcome = host.run(text, {"out": np.zeros(101, np.int32)}, (100,), (32,), sample=32 * 10)
    assert outcome.error == ""
    assert sorted(set(outcome.outputs["out"][1:])) == [0, 10]
