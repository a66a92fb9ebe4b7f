"""Floating-point numbers of 8 bits: conversions are to the nearest, of two to the even one."""

from __future__ import annotations

import numpy as np
import pytest

FORMATS = {"e4m3": (3, 7, 448.0), "e5m2": (2, 15, 57344.0)}
"""Bits of the mantissa, bias of the exponent, largest finite number."""


def sizes(kind: str) -> np.ndarray:
    """The numbers that the codes 0, 1, ... stand for, as far as they are finite."""
    mantissa, bias, most = FORMATS[kind]
    found = []
    for bits in range(128):
        exponent, rest = bits >> mantissa, bits % (1 << mantissa)
        whole = rest + (1 << mantissa) * (exponent > 0)
        found.append(whole * 2.0 ** (max(exponent, 1) - bias - mantissa))
    return np.array([one for one in found if one <= most])


def nearest(kind: str, values: np.ndarray, saturates: bool) -> np.ndarray:
    """The codes of some numbers, by looking at all that there are."""
    known = sizes(kind)
    step = known[-1] - known[-2]
    size = np.abs(values.astype(np.float64))
    with np.errstate(invalid="ignore"):
        away = np.abs(size[:, None] - np.append(known, known[-1] + step)[None, :])
    away[~np.isfinite(size)] = 1
    least = away.min(axis=1)
    ties = away == least[:, None]
    even = np.where(ties & (np.arange(away.shape[1]) % 2 == 0)[None, :], 0, 1)
    codes = np.where(ties, even, 2).argmin(axis=1)
    beyond = (codes == len(known)) | np.isinf(size)
    codes[beyond] = len(known) - 1 if saturates else len(known)
    codes = codes | np.where(np.signbit(values), 0x80, 0)
    codes[np.isnan(values)] = 0x7F
    return codes.astype(np.uint8)


def some_floats(kind: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    known = sizes(kind)
    middle = (known[1:] + known[:-1]) / 2
    close = np.concatenate(
        [np.nextafter(np.float32(middle), np.float32(side)) for side in (0, 1e9)]
    )
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, 464, 465, 480, 1e9, 61439, 61440, 61441, 1e-30]
    spread = rng.standard_normal(1500) * 2.0 ** rng.integers(-20, 18, 1500)
    parts = [known, -known, middle, -middle, close, np.array(edges), spread]
    found = np.concatenate([part.astype(np.float32) for part in parts])
    return np.concatenate([found, np.zeros(-len(found) % 64, np.float32)])


@pytest.mark.parametrize("kind", FORMATS)
def test_floats_are_rounded_to_the_nearest(host, kind):
    x = some_floats(kind)
    text = f"""#include <cuda_fp8.h>
    __global__ void k(const float *x, unsigned char *o) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      o += 6 * i;
      o[0] = __nv_fp8_{kind}(x[i]).__x;
      o[1] = __nv_cvt_float_to_fp8(x[i], __NV_NOSAT, __NV_{kind.upper()});
      __nv_fp8x4_{kind} four(make_float4(x[i], 1, -x[i], 0.5f));
      o[2] = four.__x; o[3] = four.__x >> 16;
      o[4] = __nv_cvt_halfraw_to_fp8(__half_raw(__half(x[i])), __NV_SATFINITE, __NV_{kind.upper()});
      o[5] = __nv_fp8x2_{kind}(__floats2bfloat162_rn(1.0f, x[i])).__x >> 8;
    }}"""
    buffers = {"x": x, "o": np.zeros(6 * len(x), np.uint8)}
    got = host.run(text, buffers, (len(x) // 64,), (64,)).outputs["o"].reshape(-1, 6)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).astype(np.float32)
    bits = x.view(np.uint32).astype(np.uint64)
    brain = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    brain = np.where(np.isnan(x), x, brain)
    wanted = [
        nearest(kind, x, True),
        nearest(kind, x, False),
        nearest(kind, x, True),
        nearest(kind, -x, True),
        nearest(kind, half, True),
        nearest(kind, brain, True),
    ]
    np.testing.assert_array_equal(got, np.stack(wanted, axis=1))


@pytest.mark.parametrize("kind", FORMATS)
def test_each_code_is_its_number(host, kind):
    codes = np.arange(256, dtype=np.uint8)
    text = f"""#include <cuda_fp8.h>
    __global__ void k(const unsigned char *x, float *o) {{
      int i = threadIdx.x;
      __nv_fp8_{kind} one; one.__x = x[i];
      __nv_fp8x2_{kind} two; two.__x = x[i] << 8 | 0x38;
      o[4 * i] = float(one); o[4 * i + 1] = float2(two).y; o[4 * i + 2] = float(__half(one));
      o[4 * i + 3] = (signed char)one;
    }}"""
    buffers = {"x": codes, "o": np.zeros(4 * 256, np.float32)}
    got = host.run(text, buffers, (1,), (256,)).outputs["o"].reshape(-1, 4)
    known = sizes(kind)
    wanted = np.full(256, np.nan, np.float32)
    wanted[: len(known)] = known
    if kind == "e5m2":
        wanted[len(known)] = np.inf
    wanted[128:] = -wanted[:128]
    for column in range(3):
        np.testing.assert_array_equal(got[:, column], wanted)
    whole = np.clip(np.nan_to_num(np.trunc(wanted), nan=0, posinf=127, neginf=-128), -128, 127)
    np.testing.assert_array_equal(got[:, 3], whole)
