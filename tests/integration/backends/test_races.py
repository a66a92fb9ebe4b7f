"""The host's race detector, on kernels of one idea each, with and without races."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED, with_lines
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import UNEVEN, SanitizerFinding, races
from gi_cuda.grammar import Source

THREADS = 64
GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;
#define TILES(size) cg::tiled_partition<size>(cg::this_thread_block())
"""

TILE = """
  __shared__ float tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  tile[t] = in[i];
  BARRIER
  out[i] = t > 0 ? tile[t - 1] : 0;
"""
TWICE = """
  __shared__ float tile[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[t] = in[i] + round;
    __syncthreads();
    sum += tile[63 - t];
    SECOND
  }
  out[i] = sum;
"""
TREE = """
  __shared__ float part[32];
  int t = threadIdx.x;
  part[t & 31] = 0;
  __syncthreads();
  if (t < 32) {
    part[t] = in[t];
    for (int half = 16; half; half /= 2) {
      MEET
      float other = t < half ? part[t + half] : 0;
      MEET
      if (t < half) part[t] += other;
    }
    if (t == 0) out[blockIdx.x] = part[0];
  }
"""
SHUFFLES = """
  float sum = in[threadIdx.x];
  for (int half = 16; half; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
  __shared__ float warps[2];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = warps[0] + warps[1];
"""
LAST_BLOCK = """
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    out[blockIdx.x] = in[blockIdx.x];
    FENCE
    last = atomicAdd(&count[0], 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += out[b];
    in[300] = sum;
  }
"""
GRID = """
  int t = threadIdx.x, others = 1 - blockIdx.x;
  __shared__ int own[64];
  own[t] = t;
  out[blockIdx.x * 64 + t] = in[t];
  MEET
  in[256 + blockIdx.x * 64 + t] = out[others * 64 + 63 - t] + own[t];
"""
ARRIVE = """
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ float tile[64];
  int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  tile[t] = in[t];
  auto token = bar.arrive();
  WAIT
  out[blockIdx.x * 64 + t] = tile[63 - t];
"""
FLAG = """
  if (threadIdx.x) return;
  volatile int *flag = count;
  if (blockIdx.x) {
    while (flag[blockIdx.x - 1] == 0);
    in[200] = out[blockIdx.x - 1];
    out[blockIdx.x] = 2;
  } else {
    out[0] = 1;
  }
  FENCE
  flag[blockIdx.x] = 1;
"""

RACES = {
    "a tile without its barrier": TILE.replace("BARRIER", ""),
    "a tile with a barrier of each warp": TILE.replace("BARRIER", "__syncwarp();"),
    "a barrier on a condition": TILE.replace("BARRIER", "if (in[0] > 5) __syncthreads();"),
    "the second of two barriers": TWICE.replace("SECOND", ""),
    "a warp that does not meet": TREE.replace("MEET", ""),
    "a warp that meets once a round": TREE.replace("MEET", "", 1).replace("MEET", "__syncwarp();"),
    "half of a warp that meets": TREE.replace("MEET", "__syncwarp(t < 16 ? 0xffffu : ~0xffffu);"),
    "increments": "count[threadIdx.x % 3] += 1;",
    "increments by one thread of each block": "if (threadIdx.x == 0) count[0] += 1;",
    "stores for atomics": "int *c = &count[in[threadIdx.x] > 0]; if (*c < 99) *c = threadIdx.x;",
    "an atomic beside a store": "threadIdx.x ? (void)atomicAdd(count, 1) : (void)(count[0] = 7);",
    "another value": "count[5] = threadIdx.x;",
    "a read of what another writes": "int t = threadIdx.x;"
    " if (t) count[6 + t] = count[5]; else count[5] = 1;",
    "a fence that went": LAST_BLOCK.replace("FENCE", ""),
    "a fence for the block alone": LAST_BLOCK.replace("FENCE", "__threadfence_block();"),
    "a flag without a fence": FLAG.replace("FENCE", ""),
    "halves of a word": "((short *)count)[(threadIdx.x + 1) / 2] = threadIdx.x;",
    "a structure": "((int4 *)count)[threadIdx.x % 8] = make_int4(threadIdx.x, 1, 2, 3);",
    "copied memory": "memcpy(count + threadIdx.x, in + 2 * threadIdx.x, 8);",
    "dynamic shared memory": "extern __shared__ float d[]; d[threadIdx.x] = 1;"
    " out[threadIdx.x] = d[63 - threadIdx.x];",
    "a variable": "total += in[threadIdx.x];",
    "tiles that meet": TILE.replace("BARRIER", "TILES(16).sync();"),
    "tiles of two warps that meet": TILE.replace("BARRIER", "")
    .replace("t > 0", "t < 63")
    .replace("t - 1", "(t + 32) % 64")
    .replace("out[i]", "TILES(32).sync(); out[i]"),
    "a block that meets, not the grid": GRID.replace("MEET", "cg::this_thread_block().sync();"),
    "a barrier where nobody waits": ARRIVE.replace("WAIT", ""),
    "a relaxed flag": FLAG.replace("FENCE", "").replace(
        "flag[blockIdx.x] = 1",
        "cuda::atomic_ref<int>(count[blockIdx.x]).store(1, cuda::memory_order_relaxed)",
    ),
}
NONE = {
    "a tile": TILE.replace("BARRIER", "__syncthreads();"),
    "votes": TILE.replace("BARRIER", "__syncthreads_or(t);"),
    "two barriers": TWICE.replace("SECOND", "__syncthreads();"),
    "a warp that meets": TREE.replace("MEET", "__syncwarp();"),
    "a warp that meets in other words": TREE.replace("MEET", "__shfl_sync(~0u, t, 0);"),
    "shuffles": SHUFFLES,
    "atomics": "atomicAdd(&count[threadIdx.x % 3], 1);",
    "the same value": "count[5] = 1;",
    "bytes": "((char *)count)[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;",
    "a fence": LAST_BLOCK.replace("FENCE", "__threadfence();"),
    "a flag": FLAG.replace("FENCE", "__threadfence();"),
    "arrays of a thread": "float own[9]; for (int i = 0; i < 9; ++i) own[i] = in[i] * threadIdx.x;"
    " out[blockIdx.x * 64 + threadIdx.x] = own[int(in[0]) & 7];",
    "a warp that meets as a tile": TREE.replace("MEET", "TILES(32).sync();"),
    "a warp that reduces": TREE.replace("MEET", "cg::reduce(TILES(32), t, cg::plus<int>());"),
    "a warp that came together": TREE.replace("MEET", "cg::coalesced_threads().sync();"),
    "a tile of two warps": TILE.replace("BARRIER", "TILES(64).sync();"),
    "the grid": GRID.replace("MEET", "cg::this_grid().sync();"),
    "a barrier in two steps": ARRIVE.replace("WAIT", "bar.wait(std::move(token));"),
    "a released flag": FLAG.replace("FENCE", "").replace(
        "flag[blockIdx.x] = 1",
        "cuda::atomic_ref<int>(count[blockIdx.x]).store(1, cuda::memory_order_release)",
    ),
    "one shared memory, block after block": "__shared__ int one; if (threadIdx.x == 0) {"
    " one = blockIdx.x; out[blockIdx.x] = one; }",
}


@pytest.mark.parametrize("name", RACES)
def test_races_are_found_though_threads_run_one_after_another(host, name) -> None:
    assert watched(host, RACES[name])


@pytest.mark.parametrize("name", NONE)
def test_what_is_in_order_gives_no_alarm(host, name) -> None:
    assert watched(host, NONE[name]) == []


@pytest.mark.parametrize("host", Schedule, indirect=True, ids=str)
def test_races_are_the_same_in_every_order(host) -> None:
    assert watched(host, RACES["the second of two barriers"])
    assert watched(host, RACES["a warp that meets once a round"])
    assert watched(host, NONE["two barriers"]) == []
    assert watched(host, NONE["a warp that meets"]) == []
    assert watched(host, NONE["a fence"]) == []


def test_a_race_is_told_of_with_both_threads_their_lines_and_the_memory(host) -> None:
    (found,) = watched(host, RACES["a tile without its barrier"])
    assert found.kernel == "k"
    assert (found.text, found.line) == ("tile[t] = in[i];", 5)
    assert re.fullmatch(
        r"race of threads of one block in k on shared memory: write by thread \((\d+),0,0\)"
        r" of block \((\d),0,0\), read by thread \((\d+),0,0\) of block \(\2,0,0\)"
        r" in line 7: out\[i\] = t > 0 \? tile\[t - 1\] : 0;",
        found.kind,
    )


@pytest.mark.parametrize("host", Schedule, indirect=True, ids=str)
def test_a_barrier_that_others_never_reach_is_told_and_is_no_race(host) -> None:
    (found,) = watched(host, "\n  if (threadIdx.x < 9)\n    __syncthreads();\n")
    assert not found.race
    said = f"{UNEVEN}, in k on line 4: 55 of 64 threads have ended there"
    assert str(found) == said
    # However many end, on whichever line it is: the reference's are those of its variants.
    (other,) = watched(host, "if (threadIdx.x > 9) return; __syncthreads(); __syncthreads();")
    assert other.key == found.key


def watched(host, body: str) -> list[SanitizerFinding]:
    """Return the findings in a kernel with this body, run by two blocks of 64 threads."""
    text = (
        "__device__ float total;\n"
        "__global__ void k(float *in, float *out, int *count) {" + body + "}\n"
    )
    arguments: Mapping[str, np.ndarray] = {
        "in": np.arange(512, dtype=np.float32) % 7,
        "out": np.zeros(512, np.float32),
        "count": np.zeros(512, np.int32),
    }
    outcome = host.run(
        f'{GROUPS}# 1 "v0/kernel.cu"\n{text}',
        arguments,
        (2,),
        (THREADS,),
        shared=256,
        options=WATCHED,
    )
    assert (outcome.error, outcome.status) == ("", 0)

    return races(with_lines(outcome.report), Source("kernel.cu", text))
