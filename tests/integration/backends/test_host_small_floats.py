"""half and bfloat16: every conversion and operation rounds once, to nearest even."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest


def singles():
    """All kinds of float, and those in the middle between two halves."""
    rng = np.random.default_rng(1)
    some = rng.integers(0, 2**32, 4000, dtype=np.uint32).view(np.float32)
    near = rng.standard_normal(4000).astype(np.float16).view(np.uint16)
    middle = (near[:1000].view(np.float16).astype(np.float64) * 2 + 2.0**-24) / 2
    edges = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        65504,
        65519.99,
        65520,
        2**-24,
        2**-25,
        2**-14 - 2**-25,
        1e-9,
    ]
    parts = [some, near.view(np.float16), middle, np.array(edges)]
    return np.concatenate([part.astype(np.float32) for part in parts])


def run(host, header, body, buffers, threads=256):
    """The outputs of a kernel that has a thread for each element of its first buffer."""
    text = f"#include <{header}>\n__global__ void k({body}"
    count = len(next(iter(buffers.values())))
    return host.run(text, buffers, (count // threads,), (threads,)).outputs


def test_half_is_what_numpy_has(host):
    x = singles()
    x = np.concatenate([x, np.zeros(-len(x) % 256, np.float32)])
    y = np.roll(x, 17)
    body = """const float *x, const float *y, unsigned short *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      half a = __float2half(x[i]), b = y[i];
      half2 both = __halves2half2(a, b);
      o += 8 * i;
      o[0] = __half_as_ushort(a); o[1] = __half_as_ushort(a + b);
      o[2] = __half_as_ushort(__hmul(a, b));
      o[3] = __half_as_ushort(__hdiv(a, b)); o[4] = __half_as_ushort(hsqrt(__habs(a)));
      o[5] = __half_as_ushort(__high2half(__hsub2(both, __half2half2(a))));
      o[6] = __hlt(a, b); o[7] = __half_as_ushort(__float2half(__half2float(a)));
    }"""
    buffers = {"x": x, "y": y, "o": np.zeros(8 * len(x), np.uint16)}
    got = run(host, "cuda_fp16.h", body, buffers)["o"].reshape(-1, 8)
    with np.errstate(all="ignore"):
        a, b = x.astype(np.float16), y.astype(np.float16)
        wanted = [a, a + b, a * b, a / b, np.sqrt(np.abs(a)), b - a, a < b, a]
    for at, one in enumerate(wanted):
        if one.dtype == bool:
            np.testing.assert_array_equal(got[:, at], one)
            continue
        number = ~np.isnan(one)
        np.testing.assert_array_equal(got[number, at], one.view(np.uint16)[number], str(at))
        assert set(got[~number, at]) <= {0x7FFF}


@pytest.mark.parametrize(
    ("header", "kind", "parts"),
    [("cuda_fp16.h", "half", 11), ("cuda_bf16.h", "__nv_bfloat16", 8)],
)
def test_a_fused_operation_rounds_once(host, header, kind, parts):
    rng = np.random.default_rng(5)
    x = np.ldexp(rng.standard_normal(768), rng.integers(-8, 8, 768)).astype(np.float32)
    body = f"""const float *x, float *o) {{
      int i = threadIdx.x;
      {kind} a = x[i], b = x[256 + i], c = x[512 + i];
      o[4 * i] = a; o[4 * i + 1] = b; o[4 * i + 2] = c; o[4 * i + 3] = __hfma(a, b, c);
    }}"""
    o = np.zeros(1024, np.float32)
    text = f"#include <{header}>\n__global__ void k({body}"
    got = host.run(text, {"x": x, "o": o}, (1,), (256,)).outputs["o"]
    for a, b, c, fused in got.reshape(256, 4).astype(float):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        step = Fraction(2) ** (int(np.frexp(float(exact))[1]) - parts)
        assert Fraction(fused) == round(exact / step) * step


def test_bfloat16_is_the_upper_half_of_a_float(host):
    x = singles()[: 8 * 512]
    body = """const float *x, unsigned short *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      o[3 * i] = __bfloat16_as_ushort(__float2bfloat16(x[i]));
      o[3 * i + 1] = __bfloat16_as_ushort(__float2bfloat16_rz(x[i]));
      o[3 * i + 2] = __bfloat16_as_ushort(__nv_bfloat16(x[i]) * __nv_bfloat16(3));
    }"""
    got = run(host, "cuda_bf16.h", body, {"x": x, "o": np.zeros(3 * len(x), np.uint16)})["o"]

    def nearest(values):
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        return np.where(np.isnan(values), 0x7FFF, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)

    near = nearest(x)
    with np.errstate(over="ignore"):
        product = (near.astype(np.uint32) << 16).view(np.float32) * np.float32(3)
    cut = np.where(np.isnan(x), 0x7FFF, x.view(np.uint32) >> 16)
    np.testing.assert_array_equal(got.reshape(-1, 3), np.stack([near, cut, nearest(product)], 1))


def test_atomics_shuffles_and_conversions(host):
    text = """
    #include <cuda_fp16.h>
    __global__ void k(float *o) {
      __shared__ half sum;
      __shared__ half2 sums;
      if (!threadIdx.x) { sum = 0; sums = make_half2(0, 0); }
      __syncthreads();
      atomicAdd(&sum, half(1));
      atomicAdd(&sums, __floats2half2_rn(1, 2));
      half neighbour = __shfl_down_sync(~0u, half(int(threadIdx.x)), 1);
      __syncthreads();
      o[0] = float(sum) + __low2float(sums) + 10 * float(sums.y);
      if (threadIdx.x == 3) o[1] = neighbour;
      o[2] = __half2int_rz(half(-2.75)) + __half2uint_ru(half(1e-3)) + __half2short_rn(half(2.5));
      o[3] = __half2float(__int2half_rd(2049)); o[4] = float(__double2half(65519.999999));
    }"""
    o = np.zeros(5, np.float32)
    got = host.run(text, {"o": o}, (1,), (32,)).outputs["o"]
    np.testing.assert_array_equal(got, [32 + 32 + 640, 4, 1, 2048, 65504])


def test_one_small_float_becomes_another(host):
    text = """
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    __global__ void k(const float *in, float *out) {
      int i = threadIdx.x;
      __nv_bfloat16 wide = __float2bfloat16(in[i]);
      __half narrow = static_cast<__half>(wide);
      out[2 * i] = __half2float(narrow);
      out[2 * i + 1] = __bfloat162float(__nv_bfloat16(narrow));
    }"""
    given = np.array([1.5, -3e-8, 70000.0, 0.1, 65504.0], np.float32)
    arguments = {"in": given, "out": np.zeros(10, np.float32)}
    out = host.run(text, arguments, (1,), (5,)).outputs["out"].reshape(5, 2)
    wide = np.array([upper_half(one) for one in given], np.float32)
    with np.errstate(over="ignore"):
        narrow = wide.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out[:, 0], narrow)
    np.testing.assert_array_equal(out[:, 1], [upper_half(one) for one in narrow])


def upper_half(value):
    """A float rounded to its upper 16 bits, ties to even."""
    bits = int(np.float32(value).view(np.uint32))
    if not np.isfinite(value):
        return np.float32(value)
    return np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)
