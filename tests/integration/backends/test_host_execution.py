"""CUDA's guarantees for threads, blocks, barriers and warps, checked against numpy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gi_cuda.backends.protocol.schedules import Schedule
from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

RNG = np.random.default_rng(7)


def without_lane(message: str) -> str:
    message = re.sub(r"line \d+: thread \(\d+,", "a line: thread (#,", message)
    return re.sub(r"lane \d+", "a lane", message)


def ints(n, low=-1000, high=1000, dtype=np.int32):
    return RNG.integers(low, high, n).astype(dtype)


def test_every_thread_of_a_3d_grid_of_3d_blocks_runs_once_and_knows_its_place(host):
    text = """
    __global__ void k(unsigned *out) {
      unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
      unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
      unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
      unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
      out[(z * height + y) * width + x] += x + 100 * y + 10000 * z;
    }"""
    out = np.zeros(2 * 4 * 3 * 2 * 5 * 3, np.uint32)
    outcome = host.run(text, {"out": out}, (2, 3, 5), (4, 2, 3))
    z, y, x = np.indices((15, 6, 8))
    np.testing.assert_array_equal(outcome.outputs["out"], (x + 100 * y + 10000 * z).ravel())
    assert outcome.switches == 2  # into the launch and out of it


@pytest.mark.parametrize("threads", [1, 32, 64, 256, 1024])
def test_block_reduction_with_barriers(host, threads):
    text = """
    __global__ void k(const int *in, int *out) {
      __shared__ int s[1024];
      int t = threadIdx.x;
      s[t] = in[blockIdx.x * blockDim.x + t];
      __syncthreads();
      for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
      }
      if (t == 0) out[blockIdx.x] = s[0];
    }"""
    values = ints(threads * 5)
    outcome = host.run(text, {"in": values, "out": np.zeros(5, np.int32)}, (5,), (threads,))
    np.testing.assert_array_equal(
        outcome.outputs["out"], values.reshape(5, threads).sum(1, dtype=np.int32)
    )


def test_barriers_count_and_vote(host):
    text = """
    __global__ void k(int *out) {
      int t = threadIdx.x;
      for (int i = 0; i < 3; ++i) {
        int count = __syncthreads_count(t % (i + 2) == 0);
        int all = __syncthreads_and(t < 100 - 40 * i);
        int any = __syncthreads_or(t == 40 * i);
        out[i * blockDim.x + t] = count * 100 + all * 10 + any;
      }
    }"""
    outcome = host.run(text, {"out": np.zeros(3 * 70, np.int32)}, (1,), (70,))
    expected = [35 * 100 + 10 + 1, 24 * 100 + 0 + 1, 18 * 100 + 0 + 0]
    np.testing.assert_array_equal(outcome.outputs["out"], np.repeat(expected, 70))


def test_exited_threads_do_not_count_at_barriers_nor_in_warps(host):
    text = """
    __global__ void k(int *out, int n) {
      __shared__ int s[128];
      int t = threadIdx.x;
      if (t >= n) return;
      s[t] = t;
      __syncthreads();
      int v = s[n - 1 - t];
      if (t % 3 == 0) return;
      __syncthreads();
      out[t] = v + 1000 * __popc(__ballot_sync(0xffffffffu, 1));
    }"""
    n = 100
    outcome = host.run(text, {"out": np.zeros(128, np.int32), "n": np.int32(n)}, (1,), (128,))
    t = np.arange(128)
    left = (t < n) & (t % 3 != 0)
    lanes = np.array([left[w : w + 32].sum() for w in range(0, 128, 32)]).repeat(32)
    np.testing.assert_array_equal(
        outcome.outputs["out"], np.where(left, n - 1 - t + 1000 * lanes, 0)
    )


def test_a_barrier_in_two_branches_is_one_barrier(host):
    text = """
    __global__ void k(int *out) {
      __shared__ int s[64];
      int t = threadIdx.x;
      s[t] = t * t;
      if (t & 1) { __syncthreads(); out[t] = s[63 - t]; }
      else { __syncthreads(); out[t] = -s[63 - t]; }
    }"""
    outcome = host.run(text, {"out": np.zeros(64, np.int32)}, (1,), (64,))
    t = np.arange(64)
    np.testing.assert_array_equal(outcome.outputs["out"], np.where(t % 2, 1, -1) * (63 - t) ** 2)


@pytest.mark.parametrize(("ctype", "dtype"), [("int", "i4"), ("double", "f8"), ("float", "f4")])
def test_warp_reduction_and_scan_by_shuffles(host, ctype, dtype):
    text = """
    __global__ void k(const T *in, T *sums, T *scans) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize;
      T sum = in[i];
      for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
      sums[i] = __shfl_sync(0xffffffffu, sum, 0);
      T scan = in[i];
      for (int d = 1; d < 32; d *= 2) {
        T other = __shfl_up_sync(0xffffffffu, scan, d);
        if (lane >= d) scan += other;
      }
      scans[i] = scan;
    }""".replace("T ", ctype + " ")
    values = ints(2 * 96, dtype=dtype)
    zeros = np.zeros_like(values)
    outcome = host.run(text, {"in": values, "sums": zeros, "scans": zeros}, (2,), (96,))
    warps = values.reshape(-1, 32)
    np.testing.assert_array_equal(outcome.outputs["sums"], warps.sum(1).repeat(32))
    np.testing.assert_array_equal(outcome.outputs["scans"], warps.cumsum(1).ravel())


@pytest.mark.parametrize("width", [2, 8, 16, 32])
def test_shuffles_stay_in_their_part_of_the_warp(host, width):
    text = """
    __global__ void k(int *out, int width) {
      int t = threadIdx.x;
      out[t] = __shfl_sync(0xffffffffu, t, t + 3, width);
      out[32 + t] = __shfl_up_sync(0xffffffffu, t, 3, width);
      out[64 + t] = __shfl_down_sync(0xffffffffu, t, 3, width);
      out[96 + t] = __shfl_xor_sync(0xffffffffu, t, 5, width);
    }"""
    outcome = host.run(
        text, {"out": np.zeros(128, np.int32), "width": np.int32(width)}, (1,), (32,)
    )
    t = np.arange(32)
    part = t // width * width
    expected = [
        part + (t + 3) % width,
        np.where(t - 3 >= part, t - 3, t),
        np.where(t + 3 < part + width, t + 3, t),
        # As PTX defines it: earlier parts may be read, later ones not.
        np.where(t ^ 5 < part + width, t ^ 5, t),
    ]
    np.testing.assert_array_equal(outcome.outputs["out"], np.concatenate(expected))


def test_votes_matches_and_reductions(host):
    text = """
    __global__ void k(const int *in, int *out) {
      int t = threadIdx.x, v = in[t];
      unsigned mask = t < 32 ? 0xffffffffu : 0xff00ff00u;
      if (!(mask >> t % 32 & 1)) return;
      int *o = out + 12 * t;
      o[0] = __ballot_sync(mask, v > 0);
      o[1] = __any_sync(mask, v == 3);
      o[2] = __all_sync(mask, v < 5);
      o[3] = __match_any_sync(mask, v);
      int equal;
      o[4] = __match_all_sync(mask, v, &equal) + equal;
      o[5] = __reduce_add_sync(mask, v);
      o[6] = __reduce_min_sync(mask, v);
      o[7] = __reduce_max_sync(mask, v);
      o[8] = __reduce_max_sync(mask, unsigned(v));
      o[9] = __reduce_and_sync(mask, unsigned(v));
      o[10] = __reduce_or_sync(mask, unsigned(v));
      o[11] = __reduce_xor_sync(mask, unsigned(v));
    }"""
    values = ints(64, -3, 6)
    outcome = host.run(text, {"in": values, "out": np.zeros(12 * 64, np.int32)}, (1,), (64,))
    got = outcome.outputs["out"].reshape(64, 12)
    for begin, mask in ((0, 0xFFFFFFFF), (32, 0xFF00FF00)):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        v = values[[begin + lane for lane in lanes]]
        u = v.view(np.uint32)

        def ballot(predicate, lanes=lanes):
            return sum(1 << lane for lane, yes in zip(lanes, predicate, strict=True) if yes)

        for lane in lanes:
            own = values[begin + lane]
            expected = [
                ballot(v > 0),
                (v == 3).any(),
                (v < 5).all(),
                ballot(v == own),
                0,
                v.sum(),
                v.min(),
                v.max(),
                u.max(),
                np.bitwise_and.reduce(u),
                np.bitwise_or.reduce(u),
                np.bitwise_xor.reduce(u),
            ]
            expected = np.array([int(e) for e in expected], np.int64).astype(np.int32)
            np.testing.assert_array_equal(got[begin + lane], expected)
    assert not got[32:40].any()


def test_functions_without_a_mask_are_about_the_threads_that_are_there(host):
    text = """
    __device__ int together() { return __popc(__activemask()); }
    __global__ void k(int *out) {
      int t = threadIdx.x;
      if (t < 10) {
        int v = __shfl(t, 9);
        out[t] = v + 1000 * together();
      } else if (t < 32) {
        out[t] = -__popc(__ballot(t % 2));
      }
      out[64 + t] = __any(t == 40) + 2 * __all(t < 40);
    }"""
    outcome = host.run(text, {"out": np.zeros(128, np.int32)}, (1,), (64,))
    expected = np.zeros(128, np.int32)
    expected[:10] = 9 + 1000 * 10
    expected[10:32] = -11
    expected[64:96] = 2
    expected[96:] = 1
    np.testing.assert_array_equal(outcome.outputs["out"], expected)


def test_a_shuffle_from_a_lane_that_is_not_there_gives_poison(host):
    text = """
    __global__ void k(unsigned *out) {
      if (threadIdx.x == 5) return;
      out[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, threadIdx.x == 3 ? 5 : 7);
    }"""
    outcome = host.run(text, {"out": np.zeros(32, np.uint32)}, (1,), (32,))
    expected = np.full(32, 7, np.uint32)
    expected[3], expected[5] = 0xFFFDA5A6, 0
    np.testing.assert_array_equal(outcome.outputs["out"], expected)


def test_diverged_warps_meet_again_by_syncwarp(host):
    text = """
    __global__ void k(int *out) {
      volatile __shared__ int s[64];
      int t = threadIdx.x;
      if (t % 2) { s[t] = t; __syncwarp(); out[t] = s[t ^ 1]; }
      else { s[t] = 2 * t; __syncwarp(); out[t] = s[t ^ 1]; }
    }"""
    outcome = host.run(text, {"out": np.zeros(64, np.int32)}, (1,), (64,))
    t = np.arange(64)
    other = t ^ 1
    np.testing.assert_array_equal(outcome.outputs["out"], np.where(other % 2, other, 2 * other))


def test_a_lock_is_given_up_by_a_sleeping_thread(host):
    text = """
    __global__ void k(volatile int *turn, int *order) {
      int t = blockDim.x - 1 - threadIdx.x;
      while (*turn != t) __nanosleep(20);
      order[t] = threadIdx.x;
      *turn = t + 1;
    }"""
    outcome = host.run(
        text, {"turn": np.zeros(1, np.int32), "order": np.zeros(40, np.int32)}, (1,), (40,)
    )
    np.testing.assert_array_equal(outcome.outputs["order"], np.arange(40)[::-1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "if (threadIdx.x < 16) { __syncthreads(); __ballot_sync(0xffffffffu, 1); }"
            "else { __ballot_sync(0xffff0000u, 1); __syncwarp(0xffffffffu); }",
            "Deadlock: deadlock in block (1,0,0): of 32 threads 0 have exited, "
            "16 wait at __syncthreads, 16 in warp functions",
        ),
        (
            "if (threadIdx.x < 16) __shfl_sync(0xffffffffu, 1, 0); else __ballot_sync(~0u, 1);",
            "Deadlock: deadlock in block (1,0,0): of 32 threads 0 have exited, "
            "0 wait at __syncthreads, 32 in warp functions",
        ),
        (
            "__syncwarp(0x0000ffffu);",
            "BadMask: line 1: thread (16,0,0) of block (1,0,0), lane 16 of its warp, calls a warp"
            " function with the mask 0x0000ffff, which leaves it out",
        ),
        (
            "*out = __shfl_down_sync(threadIdx.x & 64, 1, 1);",
            "BadMask: line 1: thread (0,0,0) of block (1,0,0), lane 0 of its warp, calls a warp"
            " function with the mask 0x00000000, which leaves it out",
        ),
    ],
)
def test_threads_that_wait_for_ever_are_told_of(host, text, message):
    kernel = "__global__ void k(int *out) { if (blockIdx.x == 1) { " + text + " } }"
    outcome = host.run(kernel, {"out": np.zeros(1, np.int32)}, (3,), (32,))
    # Which lane is the first to be told of depends on the order.
    assert without_lane(outcome.error) == without_lane(message)


def test_threads_run_in_order_or_in_the_one_that_is_asked_for(host):
    text = """
    __global__ void k(unsigned *order, unsigned *count) {
      unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      order[(*count)++] = block * blockDim.x * blockDim.y * blockDim.z + thread;
    }"""
    arguments = {"order": np.zeros(4 * 3 * 2 * 33 * 2, np.uint32), "count": np.zeros(1, np.uint32)}
    order = host.run(text, arguments, (4, 3, 2), (11, 3, 2)).outputs["order"]
    expected = np.arange(order.size)
    np.testing.assert_array_equal(np.sort(order), expected)
    if host.schedule in (None, Schedule.REVERSED):
        np.testing.assert_array_equal(order, expected[::-1] if host.schedule else expected)
    else:
        assert not np.array_equal(order, expected)
        again = host.run(text, arguments, (4, 3, 2), (11, 3, 2)).outputs["order"]
        np.testing.assert_array_equal(order, again)
    inside = order.reshape(-1, 66) % 66
    if host.schedule is Schedule.WARPS:
        ahead = np.arange(32)
        assert all(np.array_equal(one[one // 32 == 1] - 32, ahead) for one in inside)
    if host.schedule is Schedule.AHEAD:
        assert {tuple(np.sort(one[:2])) for one in inside} <= {(32, 33), (64, 65)}
