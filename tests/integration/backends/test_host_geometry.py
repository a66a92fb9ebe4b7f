"""Grids and blocks that a device refuses, for its own sake or for a kernel's launch bounds."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.host.build.prepare import export


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
