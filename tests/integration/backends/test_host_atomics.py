"""Atomic operations on the host."""

from __future__ import annotations

import numpy as np


def test_atomics(host):
    text = """
    __global__ void k(int *i, unsigned *u, unsigned long long *l, float *f, double *d) {
      int t = threadIdx.x;
      atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], 3 - t); atomicMax(&i[3], t);
      atomicExch(&i[4], t); atomicCAS(&i[5], t, t + 1); atomicAnd(&i[6], ~t); atomicOr(&i[7], t);
      atomicXor(&i[8], t);
      atomicInc(&u[0], 6); atomicDec(&u[1], 6); atomicAdd(u + 2, 7u);
      u[3 + t] = atomicAdd(&u[99], 1);
      atomicAdd(l, 1ull << 40); atomicMax(l + 1, (unsigned long long)t << 33);
      atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
    }"""
    n = 40
    arguments = {
        "i": np.array([0, 0, 0, 0, 0, 0, -1, 0, 0], np.int32),
        "u": np.zeros(100, np.uint32),
        "l": np.zeros(2, np.uint64),
        "f": np.zeros(1, np.float32),
        "d": np.zeros(1),
    }
    got = host.run(text, arguments, (1,), (n,)).outputs
    t = np.arange(n)
    np.testing.assert_array_equal(
        got["i"],
        [t.sum(), -t.sum(), 3 - 39, 39, 39, n, ~63, 63, np.bitwise_xor.reduce(t)],
    )
    np.testing.assert_array_equal(got["u"][:3], [n % 7, (7 - n % 7) % 7, 7 * n])
    np.testing.assert_array_equal(got["u"][3 : 3 + n], t)
    np.testing.assert_array_equal(got["l"], np.array([n << 40, 39 << 33], np.uint64))
    assert got["f"] == n / 2
    assert got["d"] == n / 4


def test_atomics_that_nvcc_itself_offers(host):
    text = """
    __global__ void k(unsigned *n, float *sum, long long *most, int *once) {
      __builtin_assume(blockDim.x == 64);
      __nv_atomic_fetch_add(n, 2, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      __nv_atomic_fetch_add(sum, threadIdx.x, __NV_ATOMIC_RELAXED);
      __nv_atomic_fetch_max(most, 3 * threadIdx.x, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
      int expected = 0;
      if (__nv_atomic_compare_exchange_n(once, &expected, 7 + threadIdx.x, false,
                                         __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED))
        __nv_atomic_store_n(once + 1, __nv_atomic_load_n(once, __NV_ATOMIC_ACQUIRE),
                            __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
      else
        once[2] = expected;
    }"""
    given = {"n": np.zeros(1, np.uint32), "sum": np.zeros(1, np.float32)}
    given |= {"most": np.zeros(1, np.int64), "once": np.zeros(3, np.int32)}
    got = host.run(text, given, (1,), (64,)).outputs
    assert (got["n"][0], got["sum"][0], got["most"][0]) == (128, 63 * 32, 189)
    np.testing.assert_array_equal(got["once"], [7, 7, 7])
