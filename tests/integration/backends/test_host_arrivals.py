"""Atomics, barriers and pipelines as libcu++ has them, in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

PRELUDE = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
"""


def test_atomics_as_objects(host):
    text = """
    __device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets;
    __global__ void k(int *out, float *sum, int *order) {
      cuda::atomic_ref<int, cuda::thread_scope_device> total(out[0]), most(out[1]), bits(out[2]);
      int t = threadIdx.x;
      total.fetch_add(t, cuda::std::memory_order_relaxed);
      most.fetch_max(t * t % 61);
      bits.fetch_or(1 << t % 9, cuda::memory_order_acq_rel);
      cuda::atomic_ref<float>(*sum) += 0.5f;
      int seen = 0;
      cuda::atomic_ref<int> last(out[3]);
      while (!last.compare_exchange_weak(seen, seen + 2)) { }
      order[tickets++] = 1;
      if (t == 0) out[4] = total.load() >= 0 && last.is_lock_free();
      auto tile = cg::tiled_partition<32>(cg::this_thread_block());
      cg::reduce_update_async(tile, cuda::atomic_ref<int>(out[5]), t, cg::plus<int>());
      order[100 + t] = cg::exclusive_scan_update(tile, cuda::atomic_ref<int>(out[6]), 1);
    }"""
    out, order = np.zeros(8, np.int32), np.zeros(300, np.int32)
    outcome = host.run(
        PRELUDE + text, {"out": out, "sum": np.zeros(1, np.float32), "order": order}, (1,), (64,)
    )
    got = outcome.outputs["out"]
    t = np.arange(64)
    assert got[:7].tolist() == [t.sum(), (t * t % 61).max(), 511, 128, 1, t.sum(), 64]
    assert outcome.outputs["sum"] == 32
    assert outcome.outputs["order"][:64].all()
    assert sorted(outcome.outputs["order"][100:164]) == list(range(64))


def test_a_barrier_in_two_steps(host):
    text = """
    __global__ void k(const int *in, int *out) {
      __shared__ cuda::barrier<cuda::thread_scope_block> bar;
      __shared__ int s[64];
      auto block = cg::this_thread_block();
      int t = threadIdx.x, sum = 0;
      if (t == 0) init(&bar, blockDim.x);
      block.sync();
      for (int round = 0; round < 3; ++round) {
        cuda::memcpy_async(block, s, in + 64 * round, sizeof(int) * 64, bar);
        cuda::barrier<cuda::thread_scope_block>::arrival_token token = bar.arrive();
        sum += round;
        bar.wait(std::move(token));
        sum += s[63 - t];
        bar.arrive_and_wait();
      }
      out[t] = sum;
    }"""
    values = np.arange(192, dtype=np.int32) ** 2
    outcome = host.run(PRELUDE + text, {"in": values, "out": np.zeros(64, np.int32)}, (1,), (64,))
    assert outcome.error == ""
    np.testing.assert_array_equal(outcome.outputs["out"], values.reshape(3, 64)[:, ::-1].sum(0) + 3)


@pytest.mark.parametrize(
    ("made", "produces", "consumes"),
    [
        ("cuda::make_pipeline(block, &state)", "true", "true"),
        ("cuda::make_pipeline(block, &state, size_t(32))", "t < 32", "t >= 32"),
        (
            "cuda::make_pipeline(block, &state, t < 32 ? cuda::pipeline_role::producer"
            " : cuda::pipeline_role::consumer)",
            "t < 32",
            "t >= 32",
        ),
    ],
)
def test_stages_of_a_pipeline(host, made, produces, consumes):
    text = """
    __global__ void k(const int *in, int *out) {
      __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
      __shared__ int s[2][32];
      auto block = cg::this_thread_block();
      int t = threadIdx.x, sum = 0;
      auto pipe = MADE;
      const bool alone = (PRODUCES) != (CONSUMES);
      for (int round = 0, filled = 0; round < 5; ++round) {
        for (; (PRODUCES) && filled < 5 && (alone || filled < round + 2); ++filled) {
          pipe.producer_acquire();
          if (t < 32) cuda::memcpy_async(&s[filled % 2][t], in + 32 * filled + t, 4, pipe);
          pipe.producer_commit();
        }
        if (CONSUMES) {
          pipe.consumer_wait();
          sum += s[round % 2][31 - t % 32];
          pipe.consumer_release();
        }
      }
      out[t] = sum;
    }"""
    for word, stands in {"MADE": made, "PRODUCES": produces, "CONSUMES": consumes}.items():
        text = text.replace(word, stands)
    values = np.arange(160, dtype=np.int32) ** 2
    outcome = host.run(PRELUDE + text, {"in": values, "out": np.zeros(64, np.int32)}, (1,), (64,))
    assert outcome.error == ""
    assert outcome.status == 0
    sums = np.tile(values.reshape(5, 32)[:, ::-1].sum(0), 2)
    sums[:32] *= consumes == "true"
    np.testing.assert_array_equal(outcome.outputs["out"], sums)


def test_copies_of_a_thread(host):
    text = """
    __global__ void k(const float4 *in, float4 *out) {
      __shared__ float4 s[32];
      int t = threadIdx.x;
      auto pipe = cuda::make_pipeline();
      pipe.producer_acquire();
      cuda::memcpy_async(&s[t], &in[t], cuda::aligned_size_t<16>(sizeof(float4)), pipe);
      pipe.producer_commit();
      cuda::pipeline_consumer_wait_prior<0>(pipe);
      __syncthreads();
      float4 v = s[31 - t];
      pipe.consumer_release();
      __syncthreads();
      __pipeline_memcpy_async(&s[t], &in[t], 16, 4);
      __pipeline_commit();
      __pipeline_wait_prior(0);
      out[t] = make_float4(v.x, v.w, s[t].z, s[t].w);
    }"""
    values = np.arange(128, dtype=np.float32)
    outcome = host.run(
        PRELUDE + text, {"in": values, "out": np.zeros(128, np.float32)}, (1,), (32,)
    )
    rows = values.reshape(32, 4)
    expected = np.stack([rows[::-1, 0], rows[::-1, 3], rows[:, 2], np.zeros(32)], axis=1)
    np.testing.assert_array_equal(outcome.outputs["out"].reshape(32, 4), expected)
