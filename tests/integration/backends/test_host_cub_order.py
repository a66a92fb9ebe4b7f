"""cub's collectives of blocks that look at neighbours, sort and count, against numpy in every order
of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests
from tests.integration.backends.test_host_cub import RNG, ints, run


def test_neighbours_are_subtracted(host):
    text = """
    struct Less { __device__ int operator()(int &a, int &b) const { return a - b; } };
    __global__ void k(const int *in, int *out) {
      using Difference = cub::BlockAdjacentDifference<int, THREADS>;
      __shared__ typename Difference::TempStorage room;
      int self = threadIdx.x, own[3], got[3];
      for (int i = 0; i < 3; ++i) own[i] = in[3 * self + i];
      auto put = [&](int row) {
        for (int i = 0; i < 3; ++i) out[3 * THREADS * row + 3 * self + i] = got[i];
        __syncthreads();
      };
      Difference(room).SubtractLeft(own, got, Less());
      put(0);
      Difference(room).SubtractLeft(own, got, Less(), 7);
      put(1);
      Difference(room).SubtractLeftPartialTile(own, got, Less(), 3 * THREADS - 4);
      put(2);
      Difference(room).SubtractRight(own, got, Less());
      put(3);
      Difference(room).SubtractRight(own, got, Less(), 7);
      put(4);
      Difference(room).SubtractRightPartialTile(own, got, Less(), 3 * THREADS - 4);
      put(5);
      Difference(room).SubtractRight(own, own, Less());
      for (int i = 0; i < 3; ++i) got[i] = own[i];
      put(6);
    }""".replace("THREADS", "40")
    given = ints(120)
    arguments = {"in": given, "out": np.zeros(7 * 120, np.int32)}
    rows = run(host, text, arguments, (1,), (40,)).outputs["out"].reshape(7, 120)
    left, right = given.copy(), given.copy()
    left[1:] -= given[:-1]
    right[:-1] -= given[1:]
    np.testing.assert_array_equal(rows[0], left)
    np.testing.assert_array_equal(rows[1], [given[0] - 7, *left[1:]])
    np.testing.assert_array_equal(rows[2], [*left[:116], *given[116:]])
    np.testing.assert_array_equal(rows[3], right)
    np.testing.assert_array_equal(rows[4], [*right[:-1], given[-1] - 7])
    np.testing.assert_array_equal(rows[5], [*right[:115], *given[115:]])
    np.testing.assert_array_equal(rows[6], right)


def test_where_neighbours_differ_is_flagged(host):
    text = """
    struct Differ { __device__ bool operator()(int a, int b) const { return a != b; } };
    struct Placed { __device__ bool operator()(int a, int b, int at) const { return at % 2; } };
    __global__ void k(const int *in, int *out) {
      using Flags = cub::BlockDiscontinuity<int, 64>;
      __shared__ typename Flags::TempStorage room;
      int self = threadIdx.x, own[2] = {in[2 * self], in[2 * self + 1]}, heads[2], tails[2];
      auto put = [&](int row, int (&flags)[2]) {
        for (int i = 0; i < 2; ++i) out[128 * row + 2 * self + i] = flags[i];
      };
      Flags(room).FlagHeads(heads, own, Differ());
      put(0, heads);
      __syncthreads();
      Flags(room).FlagTails(tails, own, Differ());
      put(1, tails);
      __syncthreads();
      Flags(room).FlagHeadsAndTails(heads, in[0], tails, in[127], own, Differ());
      put(2, heads);
      put(3, tails);
      __syncthreads();
      Flags(room).FlagHeads(heads, own, Placed());
      put(4, heads);
    }"""
    given = ints(128, 0, 3)
    arguments = {"in": given, "out": np.zeros(5 * 128, np.int32)}
    rows = run(host, text, arguments, (1,), (64,)).outputs["out"].reshape(5, 128)
    differ = given[1:] != given[:-1]
    np.testing.assert_array_equal(rows[0], [1, *differ])
    np.testing.assert_array_equal(rows[1], [*differ, 1])
    np.testing.assert_array_equal(rows[2], [0, *differ])
    np.testing.assert_array_equal(rows[3], [*differ, 0])
    np.testing.assert_array_equal(rows[4], [1, *(np.arange(1, 128) % 2)])


def test_a_block_shuffles(host):
    text = """
    __global__ void k(const int *in, int *out) {
      using Shuffle = cub::BlockShuffle<int, 40>;
      __shared__ typename Shuffle::TempStorage room;
      int self = threadIdx.x, own[2] = {in[2 * self], in[2 * self + 1]}, got[2] = {-1, -1}, end;
      auto put = [&](int row) {
        for (int i = 0; i < 2; ++i) out[80 * row + 2 * self + i] = got[i];
        __syncthreads();
      };
      Shuffle(room).Offset(own[0], got[0], -3);
      __syncthreads();
      Shuffle(room).Rotate(own[1], got[1], 5);
      put(0);
      got[0] = got[1] = -1;
      Shuffle(room).Up(own, got, end);
      got[0] += end;
      put(1);
      got[0] = got[1] = -1;
      Shuffle(room).Down(own, got, end);
      got[0] += end;
      put(2);
    }"""
    given = ints(80)
    arguments = {"in": given, "out": np.zeros(3 * 80, np.int32)}
    rows = run(host, text, arguments, (1,), (40,)).outputs["out"].reshape(3, 40, 2)
    np.testing.assert_array_equal(rows[0, :, 0], [-1, -1, -1, *given[:-6:2]])
    np.testing.assert_array_equal(rows[0, :, 1], np.roll(given[1::2], -5))
    up, down = np.array([-1, *given[:-1]]), np.array([*given[1:], -1])
    up[::2] += given[-1]
    down[::2] += given[0]
    np.testing.assert_array_equal(rows[1].ravel(), up)
    np.testing.assert_array_equal(rows[2].ravel(), down)


@pytest.mark.parametrize(
    ("key", "dtype"),
    [
        ("int", np.int32),
        ("unsigned char", np.uint8),
        ("unsigned long long", np.uint64),
        ("float", np.float32),
        ("double", np.float64),
        ("__half", np.float16),
    ],
)
def test_a_block_sorts(host, key, dtype):
    text = """
    #include <cuda_fp16.h>
    __global__ void k(const KEY *in, KEY *out, int *from) {
      typedef cub::BlockRadixSort<KEY, 40, 3, int> Sort;
      __shared__ typename Sort::TempStorage room;
      int self = threadIdx.x, at[3];
      KEY own[3];
      auto take = [&] {
        for (int i = 0; i < 3; ++i) own[i] = in[3 * self + i], at[i] = 3 * self + i;
      };
      auto put = [&](int row) {
        for (int i = 0; i < 3; ++i) out[120 * row + 3 * self + i] = own[i];
        for (int i = 0; i < 3; ++i) from[120 * row + 3 * self + i] = at[i];
        __syncthreads();
      };
      take();
      Sort(room).Sort(own, at);
      put(0);
      take();
      Sort(room).SortDescending(own, at);
      put(1);
      take();
      Sort(room).SortBlockedToStriped(own, at);
      put(2);
      take();
      Sort(room).Sort(own, at, 2, 5);
      put(3);
    }""".replace("KEY", key)
    given = RNG.integers(-20, 20, 120).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        given[::7] = -0.0
    arguments = {
        "in": given,
        "out": np.zeros(4 * 120, dtype),
        "from": np.zeros(4 * 120, np.int32),
    }
    outputs = run(host, text, arguments, (1,), (40,)).outputs
    keys, places = outputs["out"].reshape(4, 120), outputs["from"].reshape(4, 120)
    for row, found in enumerate(places):
        np.testing.assert_array_equal(keys[row], given[found])
    upwards = np.argsort(given, kind="stable")
    np.testing.assert_array_equal(places[0], upwards)
    backwards = 119 - np.argsort(given[::-1], kind="stable")[::-1]
    np.testing.assert_array_equal(places[1], backwards)
    np.testing.assert_array_equal(places[2].reshape(40, 3).T.ravel(), upwards)
    if np.issubdtype(dtype, np.unsignedinteger):
        np.testing.assert_array_equal(places[3], np.argsort(given >> 2 & 7, kind="stable"))


def test_a_block_counts(host):
    text = """
    __global__ void k(const int *in, int *out) {
      typedef cub::BlockHistogram<int, 64, 2, 16> Histogram;
      __shared__ typename Histogram::TempStorage room;
      __shared__ int counts[16];
      int own[2] = {in[2 * threadIdx.x], in[2 * threadIdx.x + 1]};
      Histogram(room).Histogram(own, counts);
      __syncthreads();
      Histogram(room).Composite(own, counts);
      __syncthreads();
      if (threadIdx.x < 16) out[threadIdx.x] = counts[threadIdx.x];
    }"""
    given = ints(128, 0, 16)
    out = run(host, text, {"in": given, "out": np.zeros(16, np.int32)}, (1,), (64,)).outputs["out"]
    np.testing.assert_array_equal(out, 2 * np.bincount(given, minlength=16))
