"""Grids and blocks that a device refuses, for its own sake or for a kernel's launch bounds."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.host.prepare import export
from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((1,), (1025,), "a block has at most 1024 threads, and 64 in its third dimension"),
        ((1,), (32, 33), "a block has at most 1024 threads, and 64 in its third dimension"),
        ((1,), (1, 1, 65), "a block has at most 1024 threads, and 64 in its third dimension"),
        ((1, 65536), (1,), "a grid has at most 2147483647 x 65535 x 65535 blocks"),
    ],
)
def test_geometry_that_the_device_refuses(host, grid, block, message):
    text = "__global__ void k(int *out) { *out = 1; }"
    outcome = host.run(text, {"out": np.zeros(1, np.int32)}, grid, block)
    assert outcome.error == "BadLaunch: " + message
    assert outcome.outputs["out"] == 0


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


BOUNDS = """
constexpr int half = 32, width = 8;
enum { LANES = 32 };
template <class T, int N> struct Traits { static constexpr int threads = N * sizeof(T); };
__global__ void __launch_bounds__(8) other(int *out);
"""


@pytest.mark.parametrize(
    "head",
    [
        "__global__ void __launch_bounds__(64) k(int *out)",
        "__launch_bounds__(64, 2) __global__ void k(int *out)",
        "__global__ __launch_bounds__(\n  2 * half,\n# 7\n  1) void k(int *out)",
        'extern "C" __global__ void __launch_bounds__(2 * LANES) k(int *out)',
        "static __global__ void __launch_bounds__((half << 1), 2) k(int *out = (int *){})",
        "__global__ void __launch_bounds__(Traits<int, 16>::threads, 1) k(int *out)",
        "__global__ void __launch_bounds__(8) __launch_bounds__(64) k(int *out)",
        "__global__ void __launch_bounds__(8) k(int *, int);\n"
        "__global__ void __launch_bounds__(64ull) k(int *out)",
    ],
)
def test_launch_bounds_refuse_larger_blocks(host, head):
    text = f"{BOUNDS}{head}\n{{ *out = 1; }}"
    exports = [export("v0", "k", "gi_exported")]
    text += "\nconstexpr void (&gi_exported)(int *) = k;"
    for block, wrong in [((64,), ""), ((8, 8), ""), ((65,), "65"), ((8, 4, 32), "1024")]:
        outcome = host.run(text, {"out": np.zeros(1, np.int32)}, (2,), block, exports=exports)
        allowed = "BadLaunch: __launch_bounds__ allows blocks of 64 threads, and the launch has"
        assert outcome.error == (f"{allowed} blocks of {wrong}" if wrong else "")
        assert outcome.outputs["out"] == (0 if wrong else 1)


def test_launch_bounds_are_those_of_the_instance_of_a_template(host):
    text = """
    template <class T, int N>
    __global__ void __launch_bounds__(N * sizeof(T)) bounded(int *out) { *out = N; }
    template <>
    __global__ void __launch_bounds__(16) bounded<char, 3>(int *out) { *out = 3; }
    """
    for instance, most in [("int, 8", 32), ("char, 64", 64), ("char, 3", 16)]:
        exports = [export("v0", "k", f"bounded<{instance}>")]
        for threads in (most, most + 1):
            arguments = {"out": np.zeros(1, np.int32)}
            outcome = host.run(text, arguments, (1,), (threads,), exports=exports)
            assert (f"allows blocks of {most} threads" in outcome.error) == (threads > most)


@pytest.mark.parametrize("bounds", ["1024", "2048", "0", "-1", "width * width"])
def test_launch_bounds_that_bound_nothing(host, bounds):
    """A parameter may hide the name of a constant: what its kernel's bounds are is not known."""
    head = f"__global__ void __launch_bounds__({bounds}) k(int *out, int width)"
    text = f"{BOUNDS}{head} {{ *out = width; }}"
    arguments = {"out": np.zeros(1, np.int32), "width": np.int32(5)}
    outcome = host.run(text, arguments, (1,), (1024,))
    assert outcome.error == ""
    assert outcome.outputs["out"] == 5
