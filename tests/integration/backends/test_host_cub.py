"""cub's collectives of blocks and warps on the host, against numpy in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

RNG = np.random.default_rng(23)


def run(host, text, arguments, grid, block, **how):
    return host.run("#include <cub/cub.cuh>\n" + text, arguments, grid, block, **how)


def ints(count, low=-1000, high=1000):
    return RNG.integers(low, high, count).astype(np.int32)


@pytest.mark.parametrize("threads", [32, 40, 96, 256])
def test_a_block_reduces(host, threads):
    text = """
    struct Wider {
      __device__ long long operator()(long long a, long long b) const { return a > b ? a : b; }
    };
    __global__ void k(const long long *in, long long *out) {
      using Reduce = cub::BlockReduce<long long, THREADS>;
      __shared__ typename Reduce::TempStorage room;
      long long own = in[blockIdx.x * THREADS + threadIdx.x];
      long long sum = Reduce(room).Sum(own);
      __syncthreads();
      long long most = Reduce(room).Reduce(own, Wider{});
      __syncthreads();
      long long some = Reduce(room).Sum(own, THREADS - 5);
      __syncthreads();
      long long two[2] = {own, 1};
      long long twice = Reduce(room).Sum(two);
      if (threadIdx.x == 0) {
        out[4 * blockIdx.x] = sum;
        out[4 * blockIdx.x + 1] = most;
        out[4 * blockIdx.x + 2] = some;
        out[4 * blockIdx.x + 3] = twice;
      }
    }""".replace("THREADS", str(threads))
    given = RNG.integers(-(10**12), 10**12, 3 * threads)
    arguments = {"in": given, "out": np.zeros(12, np.int64)}
    out = run(host, text, arguments, (3,), (threads,)).outputs["out"].reshape(3, 4)
    blocks = given.reshape(3, threads)
    np.testing.assert_array_equal(out[:, 0], blocks.sum(1))
    np.testing.assert_array_equal(out[:, 1], blocks.max(1))
    np.testing.assert_array_equal(out[:, 2], blocks[:, :-5].sum(1))
    np.testing.assert_array_equal(out[:, 3], blocks.sum(1) + threads)


def test_floats_are_added_in_the_order_of_a_device(host):
    text = """
    __global__ void k(const float *in, float *out) {
      typedef cub::BlockReduce<float, 128> Reduce;
      __shared__ Reduce::TempStorage room;
      float sum = Reduce(room).Sum(in[threadIdx.x]);
      if (threadIdx.x == 0) *out = sum;
    }"""
    given = (RNG.standard_normal(128) * 1e4).astype(np.float32)
    out = run(host, text, {"in": given, "out": np.zeros(1, np.float32)}, (1,), (128,)).outputs[
        "out"
    ]
    lanes = given.reshape(4, 32)
    while lanes.shape[1] > 1:
        lanes = lanes[:, ::2] + lanes[:, 1::2]
    warps = lanes[:, 0]
    assert out[0] == ((warps[0] + warps[1]) + warps[2]) + warps[3]


def test_a_block_of_several_dimensions_finds_its_largest(host):
    text = """
    __global__ void k(const float *in, int *out) {
      typedef cub::KeyValuePair<int, float> Pair;
      typedef cub::BlockReduce<Pair, 8, cub::BLOCK_REDUCE_RAKING, 4, 2> Reduce;
      __shared__ typename Reduce::TempStorage room;
      int self = (threadIdx.z * 4 + threadIdx.y) * 8 + threadIdx.x;
      Pair own = {self, in[self]};
      Pair found = Reduce(room).Reduce(own, cub::ArgMax());
      if (self == 0) *out = found.key;
    }"""
    given = RNG.integers(0, 20, 64).astype(np.float32)
    out = run(host, text, {"in": given, "out": np.zeros(1, np.int32)}, (1,), (8, 4, 2))
    assert out.outputs["out"][0] == given.argmax()


@pytest.mark.parametrize("threads", [32, 40, 128])
def test_a_block_scans(host, threads):
    text = """
    struct Running {
      int total;
      __device__ int operator()(int more) {
        int before = total;
        total += more;
        return before;
      }
    };
    __global__ void k(const int *in, int *out) {
      using Scan = cub::BlockScan<int, THREADS>;
      __shared__ typename Scan::TempStorage room;
      int self = threadIdx.x, own = in[self], got, all;
      int *at = out + self;
      Scan(room).ExclusiveSum(own, got);
      at[0] = got;
      __syncthreads();
      Scan(room).InclusiveSum(own, got, all);
      at[THREADS] = got;
      at[2 * THREADS] = all;
      __syncthreads();
      Scan(room).ExclusiveScan(own, got, -5000, cub::Max(), all);
      at[3 * THREADS] = got;
      at[4 * THREADS] = all;
      __syncthreads();
      Scan(room).InclusiveScan(own, got, cuda::minimum<>{});
      at[5 * THREADS] = got;
      __syncthreads();
      Running running = {100};
      Scan(room).ExclusiveSum(own, got, running);
      at[6 * THREADS] = got;
      __syncthreads();
      Scan(room).InclusiveSum(own, got, running);
      at[7 * THREADS] = got;
      __syncthreads();
      int two[2] = {own, 1}, here[2];
      Scan(room).ExclusiveSum(two, here);
      at[8 * THREADS] = here[0];
      at[9 * THREADS] = here[1];
      __syncthreads();
      Scan(room).InclusiveSum(two, two, all);
      at[10 * THREADS] = two[1];
    }""".replace("THREADS", str(threads))
    given = ints(threads)
    arguments = {"in": given, "out": np.zeros(11 * threads, np.int32)}
    out = run(host, text, arguments, (1,), (threads,)).outputs["out"].reshape(11, threads)
    before, after = np.cumsum(given) - given, np.cumsum(given)
    whole = np.full(threads, given.sum())
    ones = np.arange(threads)
    lead = np.concatenate([[-5000], np.maximum.accumulate(given)[:-1]])
    expected = [before, after, whole, lead, np.full(threads, given.max())]
    # The first callback has taken in the whole block before the second one asks.
    expected += [np.minimum.accumulate(given), before + 100, after + 100 + given.sum()]
    expected += [before + ones, before + ones + given, after + ones + 1]
    np.testing.assert_array_equal(out, np.array(expected))


@pytest.mark.parametrize("width", [4, 16, 32])
def test_warps_and_parts_of_them(host, width):
    text = """
    __global__ void k(const int *in, int *out) {
      using Reduce = cub::WarpReduce<int, WIDTH>;
      using Scan = cub::WarpScan<int, WIDTH>;
      __shared__ typename Reduce::TempStorage reduces[64 / WIDTH];
      __shared__ typename Scan::TempStorage scans[64 / WIDTH];
      int self = threadIdx.x, part = self / WIDTH, own = in[self], got, all;
      int *at = out + self;
      all = Reduce(reduces[part]).Sum(own);
      at[0] = self % WIDTH ? 0 : all;
      all = Reduce(reduces[part]).Reduce(own, cub::Min(), 3);
      at[64] = self % WIDTH ? 0 : all;
      Scan(scans[part]).InclusiveSum(own, got);
      at[128] = got;
      Scan(scans[part]).ExclusiveSum(own, got, all);
      at[192] = got;
      at[256] = all;
      Scan(scans[part]).ExclusiveScan(own, got, 7, cub::Max());
      at[320] = got;
      at[384] = Scan(scans[part]).Broadcast(own, 2);
    }""".replace("WIDTH", str(width))
    given = ints(64)
    out = run(host, text, {"in": given, "out": np.zeros(448, np.int32)}, (1,), (64,)).outputs["out"]
    out = out.reshape(7, 64 // width, width)
    parts = given.reshape(-1, width)
    np.testing.assert_array_equal(out[0, :, 0], parts.sum(1))
    np.testing.assert_array_equal(out[1, :, 0], parts[:, :3].min(1))
    np.testing.assert_array_equal(out[2], parts.cumsum(1))
    np.testing.assert_array_equal(out[3], parts.cumsum(1) - parts)
    np.testing.assert_array_equal(out[4], np.repeat(parts.sum(1)[:, None], width, 1))
    lead = np.concatenate([np.full((len(parts), 1), 7), parts], 1)[:, :-1]
    np.testing.assert_array_equal(out[5], np.maximum.accumulate(lead, 1))
    np.testing.assert_array_equal(out[6], np.repeat(parts[:, 2:3], width, 1))


def test_items_of_threads_are_loaded_exchanged_and_stored(host):
    text = """
    __global__ void k(const int *in, int *out, int n) {
      typedef cub::BlockLoad<int, 64, 3, cub::BLOCK_LOAD_TRANSPOSE> Load;
      typedef cub::BlockStore<int, 64, 3, cub::BLOCK_STORE_TRANSPOSE> Store;
      typedef cub::BlockExchange<int, 64, 3> Exchange;
      __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Exchange::TempStorage exchange;
      } room;
      int items[3], ranks[3];
      Load(room.load).Load(in, items, n, -1);
      for (int i = 0; i < 3; ++i) out[threadIdx.x * 3 + i] = items[i];
      __syncthreads();
      Exchange(room.exchange).BlockedToStriped(items);
      for (int i = 0; i < 3; ++i) out[192 + threadIdx.x + 64 * i] = items[i];
      __syncthreads();
      for (int i = 0; i < 3; ++i) ranks[i] = 191 - (threadIdx.x + 64 * i);
      Exchange(room.exchange).ScatterToBlocked(items, items, ranks);
      __syncthreads();
      Store(room.store).Store(out + 384, items, 150);
    }"""
    given = ints(192)
    arguments = {"in": given, "out": np.zeros(576, np.int32), "n": np.int32(170)}
    out = run(host, text, arguments, (1,), (64,)).outputs["out"].reshape(3, 192)
    loaded = np.where(np.arange(192) < 170, given, -1)
    np.testing.assert_array_equal(out[0], loaded)
    np.testing.assert_array_equal(out[1], loaded)
    np.testing.assert_array_equal(out[2], np.where(np.arange(192) < 150, loaded[::-1], 0))
