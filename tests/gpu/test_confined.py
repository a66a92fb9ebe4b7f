"""Confined code gives the same answers, never kills its process, leaves a sign of each fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.cuda.compile.nvcc import CONFINED

WAYS = range(len(CONFINED))
THREADS = 256
HELPERS = """
#include <cstdio>
__constant__ int table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__device__ int own[64];
__device__ __noinline__ int through(const int *p, int i) { return p[i]; }
"""
KERNEL = "__global__ void k(int *out, const int *in, int n) { int t = threadIdx.x; STATEMENT }"
SIZE = 1 << 14
GIVEN = np.arange(SIZE, dtype=np.int32) % 11

EVERYTHING = """
  extern __shared__ int all[];
  __shared__ int of_warp[32];
  int i = blockIdx.x * blockDim.x + t, v = i < n ? in[i] : 0, x = v, many[8];
  all[t] = v;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) all[t] += all[t + k];
    __syncthreads();
  }
  for (int o = 16; o; o >>= 1) x += __shfl_down_sync(0xffffffffu, x, o);
  if (t % 32 == 0) of_warp[t / 32] = x;
  int more = __syncthreads_count(v > 3);
  for (int k = 0; k < 8; ++k) many[(k * n + t) & 7] = k + v;
  own[t & 63] = t & 63;
  const int *p = t % 3 == 0 ? all : t % 3 == 1 ? in : many;
  if (i < n)
    out[i] = all[0] + of_warp[t / 32] + more + table[(v + t) & 15] + many[(t + n) & 7]
             + own[t & 63] + through(p, 0) * (t % 3 != 0) + through(table, t & 7)
             + (int)__ballot_sync(__activemask(), v & 1);
"""

HARMLESS = {
    "some leave early": "__shared__ int s[256]; s[t] = in[t]; if (t >= 100) return;"
    " __syncthreads(); out[t] = s[(t + 1) % 100];",
    "reads all of a buffer": "int s = 0; for (int k = 4 * t; k < SIZE; k += 1024)"
    " { int4 v = *(const int4 *)(in + k); s += v.x + v.y + v.z + v.w; } out[t] = s;"
    " if (t == 0) out[SIZE - 1] = through(in, SIZE - 1);",
    "some go round more often": "int s = in[t]; for (int k = 0; k < (in[t] & 7); ++k)"
    " { __syncthreads(); s += k; } out[t] = s;",
}

HARMFUL = {
    "endless, others wait": (
        "volatile const int *p = in; if (t & 1) while (p[t] >= 0) {} __syncthreads(); out[t] = 1;",
        "late",
    ),
    "a lock that nobody opens": ("while (atomicCAS(out, 0, 1) != 7) {} out[t] = 3;", "late"),
    "endless barriers": ("for (;;) { __syncthreads(); if (in[t] < 0) break; } out[t] = 1;", "late"),
    "halves of a warp at two barriers": (
        "__shared__ int s[256]; if (t % 32 < 16) { s[t] = in[t]; __syncthreads();"
        " out[t] = s[t ^ 1]; } else { s[t] = 2 * in[t]; __syncthreads(); out[t] = s[t ^ 1] + 5; }",
        "parted",
    ),
    "a barrier for few": (
        "__shared__ int s[256]; s[t] = in[t]; if (t < 5) __syncthreads(); s[t] += 1;"
        " __syncthreads(); out[t] = s[t ^ 1];",
        "parted",
    ),
    "writes far away": ("out[t] = in[t]; out[((long long)n << 44) + t] = 1;", "strayed"),
    "writes to nowhere": ("((int *)((size_t)n << 4))[t] = 1;", "strayed"),
    "reads askew": ("out[t] = *(const int *)((const char *)in + n);", "strayed"),
    "reads behind shared memory": (
        "__shared__ int s[256]; s[t] = in[t]; __syncthreads(); out[t] = s[t + n * 100000];",
        "strayed",
    ),
    "writes behind its stack": (
        "int a[16]; for (int k = 0; k < 16; ++k) a[(k * n) & 15] = in[t];"
        " a[n * 1000000 + t] = 4; out[t] = a[t & 15];",
        "strayed",
    ),
    "reads anything": (
        "__shared__ int s[256]; s[t] = in[t]; __syncthreads();"
        " out[t] = through(t % 3 == 0 ? s : in, n * 100000000);",
        "strayed",
    ),
    "reads the element behind a buffer": ("out[t] = in[t == 7 ? SIZE - 1 + n : t];", "beside"),
    "reads the element before a buffer": ("out[t] = in[t == 7 ? -n : t];", "beside"),
    "reads it by a pointer to anything": ("out[t] = through(in, t == 7 ? -n : t);", "beside"),
    "reads two elements behind at once": (
        "int2 two = *(const int2 *)(in + (t == 7 ? SIZE - 1 + n : 2 * t)); out[t] = two.x + two.y;",
        "beside",
    ),
    "adds nothing behind": ("out[t] = atomicAdd(out + (t == 7 ? SIZE - 1 + n : t), 0);", "beside"),
    "copies from behind": (
        "__shared__ int s[256]; unsigned to = (unsigned)__cvta_generic_to_shared(s + t);"
        ' asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"'
        ' :: "r"(to), "l"(in + (t == 7 ? SIZE - 1 + n : t)));'
        ' asm volatile("cp.async.wait_all;"); out[t] = s[t];',
        "beside",
    ),
    "reads a gigabyte away": ("out[t] = in[t + ((long long)n << 28)];", "beside"),
    "a trap": ("if (in[t] > 3) __trap(); out[t] = 1;", "strayed"),
}


def run(cuda: Any, text: str, *, blocks: int = 1, n: int = 1, **options: Any) -> Any:
    arguments = {"out": np.zeros(SIZE, np.int32), "in": GIVEN, "n": np.int32(n)}
    whole = HELPERS + KERNEL.replace("STATEMENT", text).replace("SIZE", str(SIZE))
    shared = 4 * THREADS
    return cuda.run(whole, arguments, (blocks,), (THREADS,), shared=shared, limit=0.02, **options)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_right_answers_as_it_does_unconfined(cuda: Any, way: int) -> None:
    free = run(cuda, EVERYTHING, blocks=60, n=15000)
    confined = run(cuda, EVERYTHING, blocks=60, n=15000, way=way)
    assert (confined.status, confined.fate, confined.error) == (0, "", "")
    assert free.outputs["out"].any()
    assert (confined.outputs["out"] == free.outputs["out"]).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_unusual_and_harmless_leaves_no_sign(cuda: Any, name: str, way: int) -> None:
    free, confined = run(cuda, HARMLESS[name]), run(cuda, HARMLESS[name], way=way)
    assert (free.status, confined.status, confined.fate) == (0, 0, "")
    assert (confined.outputs["out"] == free.outputs["out"]).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", HARMFUL)
def test_what_would_do_harm_leaves_a_sign_and_its_process_lives(
    cuda: Any, name: str, way: int
) -> None:
    text, sign = HARMFUL[name]
    outcome = run(cuda, text, way=way)
    assert (outcome.status, outcome.fate) == (0, sign)
    assert outcome.damaged == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [31, 32])
def test_buffers_end_where_they_end(cuda: Any, size: int, way: int) -> None:
    text = "__global__ void k(char *out, const char *in, int n) { out[threadIdx.x] = in[n]; }"
    for at, fate in ((size - 1, ""), (size, "beside"), (-1, "beside")):
        given = {"out": np.zeros(1, np.int8), "in": np.ones(size, np.int8), "n": np.int32(at)}
        outcome = cuda.run(text, given, (1,), (1,), way=way)
        assert (outcome.status, outcome.fate) == (0, fate)
