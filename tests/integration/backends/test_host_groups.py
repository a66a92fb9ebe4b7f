"""Cooperative groups on the host, checked against numpy in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

RNG = np.random.default_rng(11)

PRELUDE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
"""


def run(host, text, arguments, grid, block, **how):
    return host.run(PRELUDE + text, arguments, grid, block, **how)


def ints(count, low=-1000, high=1000):
    return RNG.integers(low, high, count).astype(np.int32)


def test_a_block_knows_its_threads_and_meets(host):
    text = """
    __global__ void k(int *out) {
      cg::thread_block block = cg::this_thread_block();
      __shared__ int s[24];
      s[block.thread_rank()] = block.thread_rank();
      cg::sync(block);
      int other = s[block.size() - 1 - block.thread_rank()];
      block.sync();
      auto token = block.barrier_arrive();
      block.barrier_wait(cg::thread_block::arrival_token(token));
      unsigned begin = block.group_index().y * gridDim.x + block.group_index().x;
      begin *= block.num_threads();
      unsigned rank = begin + cg::thread_rank(block);
      out[rank] = other + 100 * block.thread_index().z + 10000 * cg::group_size(block)
        + 1000000 * block.group_dim().y;
    }"""
    outcome = run(host, text, {"out": np.zeros(6 * 24, np.int32)}, (3, 2), (4, 3, 2))
    rank = np.arange(24)
    expected = 23 - rank + 100 * (rank // 12) + 10000 * 24 + 1000000 * 3
    np.testing.assert_array_equal(outcome.outputs["out"], np.tile(expected, 6))


def test_a_block_reduces_by_tiles(host):
    text = """
    template <unsigned Size, class Parent>
    __device__ int sum_over(const cg::thread_block_tile<Size, Parent> &tile, int value) {
      for (int offset = tile.size() / 2; offset > 0; offset /= 2)
        value += tile.shfl_down(value, offset);
      return tile.shfl(value, 0);
    }
    __device__ int sum_over_any(cg::thread_group group, int value, int *room) {
      int lane = group.thread_rank();
      for (int i = group.size() / 2; i > 0; i /= 2) {
        room[lane] = value;
        group.sync();
        if (lane < i) value += room[lane + i];
        group.sync();
      }
      return value;
    }
    __global__ void k(const int *in, int *out, int *small) {
      __shared__ int parts[32], room[256];
      cg::thread_block block = cg::this_thread_block();
      cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
      auto four = cg::tiled_partition<4>(tile);
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      int sum = cg::reduce(tile, in[i], cg::plus<int>());
      if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = sum;
      block.sync();
      int total = 0;
      if (tile.meta_group_rank() == 0) {
        total = tile.thread_rank() < tile.meta_group_size() ? parts[tile.thread_rank()] : 0;
        total = sum_over(tile, total);
      }
      if (block.thread_rank() == 0) out[blockIdx.x] = total;
      int quad = sum_over(four, in[i]);
      cg::thread_group eight = cg::tiled_partition(block, 8);
      int again = sum_over_any(eight, in[i], room + block.thread_rank() / 8 * 8);
      small[2 * i] = quad + four.meta_group_size() * 0;
      small[2 * i + 1] = eight.thread_rank() == 0 ? again : int(four.meta_group_rank());
    }"""
    threads, blocks = 256, 3
    values = ints(threads * blocks)
    outcome = run(
        host,
        text,
        {"in": values, "out": np.zeros(blocks, np.int32), "small": np.zeros(2 * values.size, "i4")},
        (blocks,),
        (threads,),
    )
    assert outcome.error == ""
    np.testing.assert_array_equal(outcome.outputs["out"], values.reshape(blocks, -1).sum(1))
    got = outcome.outputs["small"].reshape(-1, 2)
    np.testing.assert_array_equal(got[:, 0], values.reshape(-1, 4).sum(1).repeat(4))
    lane = np.arange(values.size) % 32
    eights = values.reshape(-1, 8).sum(1).repeat(8)
    np.testing.assert_array_equal(got[:, 1], np.where(lane % 8 == 0, eights, lane // 4))


@pytest.mark.parametrize(
    ("ctype", "dtype"), [("int", "i4"), ("float", "f4"), ("double", "f8"), ("long long", "i8")]
)
def test_tiles_reduce_and_scan_what_numbers_they_get(host, ctype, dtype):
    text = """
    struct Pair { T low, high; char tag; };
    __global__ void k(const T *in, T *out) {
      auto tile = cg::tiled_partition<16>(cg::this_thread_block());
      int i = threadIdx.x;
      T value = in[i], *o = out + 8 * i;
      o[0] = cg::reduce(tile, value, cg::plus<T>());
      o[1] = cg::reduce(tile, value, cg::less<T>());
      o[2] = cg::reduce(tile, value, cg::greater<T>());
      o[3] = cg::inclusive_scan(tile, value, cg::plus<T>());
      o[4] = cg::exclusive_scan(tile, value);
      o[5] = cg::reduce(tile, value, [](T a, T b) { return a * a < b * b ? b : a; });
      Pair pair = tile.shfl_xor(Pair{value, value + 1, 'x'}, 5);
      o[6] = pair.high + (pair.tag - 'x');
      o[7] = tile.shfl_up(value, 3);
    }""".replace("T ", ctype + " ").replace("<T>", f"<{ctype}>")
    # No two have the same square, so that there is one largest.
    values = RNG.permutation(3 * np.arange(-20, 44) + 1).astype(dtype)
    outcome = run(host, text, {"in": values, "out": np.zeros(8 * 64, dtype)}, (1,), (64,))
    got, tiles = outcome.outputs["out"].reshape(64, 8).T, values.reshape(-1, 16)
    lane = np.arange(64)
    expected = [
        tiles.sum(1).repeat(16),
        tiles.min(1).repeat(16),
        tiles.max(1).repeat(16),
        tiles.cumsum(1).ravel(),
        (tiles.cumsum(1) - tiles).ravel(),
        np.take_along_axis(tiles, np.abs(tiles).argmax(1)[:, None], 1).ravel().repeat(16),
        values[lane ^ 5] + 1,
        np.where(lane % 16 >= 3, np.roll(values, 3), values),
    ]
    for line, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(line, wanted)


def test_tiles_vote_and_match_among_themselves(host):
    text = """
    __global__ void k(const int *in, unsigned *out) {
      auto tile = cg::tiled_partition<8>(cg::this_thread_block());
      int v = in[threadIdx.x], equal = 7;
      unsigned *o = out + 6 * threadIdx.x;
      o[0] = tile.ballot(v > 1);
      o[1] = tile.any(v == 3) + 2 * tile.all(v < 3);
      o[2] = tile.match_any(v);
      o[3] = tile.match_all(v, equal);
      o[4] = equal;
      o[5] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
    }"""
    values = ints(64, 0, 4)
    values[:8] = 2
    outcome = run(host, text, {"in": values, "out": np.zeros(6 * 64, np.uint32)}, (1,), (64,))
    for i, got in enumerate(outcome.outputs["out"].reshape(64, 6)):
        tile = values[i // 8 * 8 : i // 8 * 8 + 8]
        bits = lambda which: int(sum(1 << j for j in range(8) if which[j]))  # noqa: E731
        same = (tile == tile[0]).all()
        expected = [
            bits(tile > 1),
            (tile == 3).any() + 2 * (tile < 3).all(),
            bits(tile == values[i]),
            255 if same else 0,
            same,
            i % 8 + 100 * (i // 8) + 10000 * 8,
        ]
        assert got.tolist() == [int(e) for e in expected]


def test_coalesced_threads_scan_and_partition(host):
    text = """
    __global__ void k(const int *in, int *out, int *count) {
      int i = threadIdx.x, v = in[i], *o = out + 10 * i;
      if (v % 3) {
        cg::coalesced_group active = cg::coalesced_threads();
        o[0] = active.size();
        o[1] = active.thread_rank();
        o[2] = cg::inclusive_scan(active, v);
        o[3] = cg::exclusive_scan(active, v, cg::plus<int>());
        o[4] = cg::reduce(active, v, cg::greater<int>());
        o[5] = active.shfl(v, 2);
        o[6] = active.shfl_up(v, 1);
        o[7] = active.shfl_down(v, 2);
        o[8] = active.ballot(v & 1);
        // One thread adds for all of them.
        int begin = 0;
        if (active.thread_rank() == 0) begin = atomicAdd(count, int(active.size()));
        o[9] = active.shfl(begin, 0) + active.thread_rank();
      }
    }"""
    values = ints(96, 0, 50)
    outcome = run(
        host,
        text,
        {"in": values, "out": np.zeros(960, np.int32), "count": np.zeros(1, np.int32)},
        (1,),
        (96,),
    )
    got, places = outcome.outputs["out"].reshape(96, 10), []
    for begin in range(0, 96, 32):
        lanes = [i for i in range(begin, begin + 32) if values[i] % 3]
        v = values[lanes]
        n = len(lanes)
        for rank, i in enumerate(lanes):
            assert got[i, :9].tolist() == [
                n,
                rank,
                v[: rank + 1].sum(),
                v[:rank].sum(),
                v.max(),
                v[2],
                v[rank - 1] if rank else v[0],
                v[rank + 2] if rank + 2 < n else v[rank],
                int(np.int32(sum(1 << r for r in range(n) if v[r] & 1))),
            ]
            places.append(got[i, 9])
    assert sorted(places) == list(range(len(places)))
    assert outcome.outputs["count"] == len(places)


def test_partitions_by_predicate_and_by_label(host):
    text = """
    __global__ void k(const int *in, int *out) {
      auto tile = cg::tiled_partition<32>(cg::this_thread_block());
      int i = threadIdx.x, v = in[i], *o = out + 8 * i;
      auto half = cg::binary_partition(tile, v & 1);
      o[0] = cg::reduce(half, v, cg::plus<int>());
      o[1] = half.size() + 100 * half.meta_group_rank() + 1000 * half.meta_group_size();
      auto part = cg::labeled_partition(tile, v / 4);
      o[2] = cg::reduce(part, v, cg::bit_xor<int>());
      o[3] = part.thread_rank() + 100 * part.meta_group_rank() + 10000 * part.meta_group_size();
      auto pairs = cg::tiled_partition(half, 2);
      o[4] = pairs.size() + 10 * pairs.meta_group_rank();
      o[5] = cg::invoke_one_broadcast(part, [=] { return v; });
      int told = 0;
      cg::invoke_one(half, [&](int add) { told = add; }, 5);
      o[6] = half.shfl(told, 0) + told;
      half.sync();
      o[7] = half.any(v == 3);
    }"""
    values = ints(64, 0, 16)
    outcome = run(host, text, {"in": values, "out": np.zeros(8 * 64, np.int32)}, (1,), (64,))
    got = outcome.outputs["out"].reshape(64, 8)
    for begin in (0, 32):
        v = values[begin : begin + 32]
        labels = [x // 4 for x in v]
        order = list(dict.fromkeys(labels))
        for lane in range(32):
            half = [j for j in range(32) if v[j] % 2 == v[lane] % 2]
            part = [j for j in range(32) if labels[j] == labels[lane]]
            rank, own = half.index(lane), part.index(lane)
            assert got[begin + lane].tolist() == [
                v[half].sum(),
                len(half) + 100 * (v[lane] & 1) + 2000,
                np.bitwise_xor.reduce(v[part]),
                own + 100 * order.index(labels[lane]) + 10000 * len(order),
                min(2, len(half) - rank // 2 * 2) + 10 * (rank // 2),
                v[part[0]],
                5 + 5 * (rank == 0),
                3 in v[half],
            ]


@pytest.mark.parametrize("size", [64, 128, 256])
def test_tiles_of_several_warps(host, size):
    text = """
    __global__ void k(const int *in, int *out) {
      __shared__ cg::block_tile_memory<512> memory;
      cg::thread_block block = cg::this_thread_block(memory);
      auto tile = cg::tiled_partition<SIZE>(block);
      __shared__ int s[512];
      int i = threadIdx.x, v = in[i], *o = out + 6 * i;
      s[i] = v;
      tile.sync();
      o[0] = s[i ^ (SIZE - 1)];
      o[1] = cg::reduce(tile, v, cg::plus<int>());
      o[2] = tile.shfl(v, SIZE / 2 + 1);
      o[3] = tile.any(v > 990) + 2 * tile.all(v < 900);
      o[4] = tile.thread_rank() + 1000 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
      if (tile.meta_group_rank() % 2) return;
      o[5] = cg::inclusive_scan(tile, v);
    }""".replace("SIZE", str(size))
    values = ints(512)
    outcome = run(host, text, {"in": values, "out": np.zeros(6 * 512, np.int32)}, (1,), (512,))
    assert outcome.error == ""
    got, tiles = outcome.outputs["out"].reshape(512, 6).T, values.reshape(-1, size)
    i = np.arange(512)
    expected = [
        values[i ^ (size - 1)],
        tiles.sum(1).repeat(size),
        tiles[:, size // 2 + 1].repeat(size),
        ((tiles > 990).any(1) + 2 * (tiles < 900).all(1)).repeat(size),
        i % size + 1000 * (i // size) + 10000 * (512 // size),
        np.where(i // size % 2, 0, tiles.cumsum(1).ravel()),
    ]
    for line, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(line, wanted)


def test_groups_copy_together(host):
    text = """
    __global__ void k(const float *in, float *out) {
      extern __shared__ float room[];
      auto block = cg::this_thread_block();
      auto tile = cg::tiled_partition<32>(block);
      cg::memcpy_async(block, room, in + blockIdx.x * 100, sizeof(float) * 100);
      cg::wait(block);
      float sum = 0;
      for (int i = 0; i < 100; ++i) sum += room[i];
      block.sync();
      cg::memcpy_async(tile, room + 32 * tile.meta_group_rank(), 32, in + 7, 30);
      cg::wait(tile);
      out[blockIdx.x * blockDim.x + threadIdx.x] = sum + room[block.thread_rank() ^ 1];
    }"""
    values = ints(300).astype(np.float32)
    outcome = run(
        host, text, {"in": values, "out": np.zeros(192, np.float32)}, (3,), (64,), shared=400
    )
    lane = np.arange(192) % 32 ^ 1
    sums = values.reshape(3, 100).sum(1).repeat(64)
    got = outcome.outputs["out"]
    known = lane < 30
    np.testing.assert_array_equal(got[known], (sums + values[7 + np.minimum(lane, 29)])[known])


def test_the_grid_meets(host):
    text = """
    __device__ int total;
    __global__ void k(const int *in, int *out) {
      cg::grid_group grid = cg::this_grid();
      __shared__ int own[33];
      extern __shared__ int mine[];
      int t = threadIdx.x;
      if (t == 32) own[32] = grid.block_rank();
      if (t < 32) own[t] = in[grid.thread_rank()];
      mine[t] = t + 1000 * blockIdx.x;
      __syncthreads();
      for (int round = 0; round < 3; ++round) {
        if (t == 0) atomicAdd(&total, own[round]);
        cg::sync(grid);
        int seen = total;
        grid.sync();
        if (own[32] != grid.block_rank() || mine[t] != t + 1000 * blockIdx.x) seen = -1;
        out[round * grid.size() + grid.thread_rank()] = seen;
      }
      if (t > 40) return;
      grid.sync();
      out[3 * grid.size() + grid.thread_rank()] = grid.block_rank() + 100 * grid.num_blocks();
    }"""
    values = ints(6 * 48)
    out = np.zeros(4 * 6 * 48, np.int32)
    outcome = run(host, text, {"in": values, "out": out}, (3, 2), (48,), shared=4 * 48)
    assert outcome.error == ""
    got, blocks = outcome.outputs["out"].reshape(4, 6, 48), values.reshape(6, 48)
    totals = blocks[:, :3].sum(0).cumsum()
    np.testing.assert_array_equal(got[:3].reshape(3, -1), totals[:, None].repeat(6 * 48, 1))
    ranks = np.where(np.arange(48) <= 40, np.arange(6)[:, None] + 600, 0)
    np.testing.assert_array_equal(got[3], ranks)


def test_blocks_that_end_keep_the_grid_from_meeting(host):
    text = "__global__ void k(int *out) { if (blockIdx.x != 1) cg::this_grid().sync(); *out = 1; }"
    outcome = run(host, text, {"out": np.zeros(1, np.int32)}, (4,), (8,))
    assert outcome.error == (
        "Deadlock: deadlock: of 4 blocks 3 wait at the barrier of the grid, and the others have"
        " ended"
    )
