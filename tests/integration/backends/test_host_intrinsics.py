"""CUDA's intrinsics, compared with exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

OPERATIONS = {
    "add": (2, lambda a, b, _: a + b),
    "sub": (2, lambda a, b, _: a - b),
    "mul": (2, lambda a, b, _: a * b),
    "div": (2, lambda a, b, _: a / b),
    "rcp": (1, lambda a, _b, _c: 1 / a),
    "fma": (3, lambda a, b, c: a * b + c),
}
NAMES = {
    "float": {**{op: f"__f{op}" for op in OPERATIONS}, "fma": "__fmaf"},
    "double": {**{op: f"__d{op}" for op in OPERATIONS}, "fma": "__fma"},
}


def numbers(dtype, count):
    """Numbers of many sizes, and some whose sums and products just miss a number."""
    rng = np.random.default_rng(7)
    bits = 10 if dtype is np.float32 else 60
    some = rng.standard_normal(count) * np.exp2(rng.integers(-bits, bits, count))
    some[::5] = np.round(some[::5]) + 1
    some[1::7] = np.exp2(rng.integers(-bits, bits, len(some[1::7])))
    some[some == 0] = 1
    return some.astype(dtype)


def rounded(exact, how, dtype):
    """An exact number as the nearest of a type on the side that is asked for."""
    near = dtype(float(exact)) if dtype is np.float64 else nearest_single(exact)
    off = exact - Fraction(float(near))
    if (how == "ru" or (how == "rz" and exact < 0)) and off > 0:
        return np.nextafter(near, dtype(np.inf))
    if (how == "rd" or (how == "rz" and exact > 0)) and off < 0:
        return np.nextafter(near, dtype(-np.inf))
    return near


def nearest_single(exact):
    """Not by way of double, which would round twice."""
    near = np.float32(float(exact))
    around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    even = {float(x): int(x.view(np.uint32)) & 1 for x in around}
    return np.float32(min(even, key=lambda x: (abs(Fraction(x) - exact), even[x])))


@pytest.mark.parametrize("kind", ["float", "double"])
def test_arithmetic_rounds_as_its_name_says(host, kind):
    dtype = np.float32 if kind == "float" else np.float64
    ways = ("rn", "rz", "ru", "rd")
    count = 60
    calls = [
        f"{NAMES[kind][op]}_{how}({', '.join('abc'[:arity])})"
        for op, (arity, _) in OPERATIONS.items()
        for how in ways
    ]
    text = f"""
    __global__ void k(const {kind} *in, {kind} *out) {{
      int i = threadIdx.x, n = blockDim.x;
      {kind} a = in[i], b = in[n + i], c = in[2 * n + i], *o = out + {len(calls)} * i;
      {" ".join(f"o[{at}] = {call};" for at, call in enumerate(calls))}
    }}"""
    given = numbers(dtype, 3 * count)
    buffers = {"in": given, "out": np.zeros(count * len(calls), dtype)}
    got = host.run(text, buffers, (1,), (count,)).outputs["out"].reshape(count, len(calls))
    for i in range(count):
        a, b, c = (Fraction(float(given[i + at * count])) for at in range(3))
        wanted = [
            rounded(exact, how, dtype)
            for _, operation in OPERATIONS.values()
            for exact in [operation(a, b, c)]
            for how in ways
        ]
        np.testing.assert_array_equal(got[i], np.array(wanted, dtype), str((a, b, c)))


def test_roots_round_as_their_names_say(host):
    ways = ("rn", "rz", "ru", "rd")
    text = f"""
    __global__ void k(const double *in, double *out, float *narrow) {{
      int i = threadIdx.x;
      {" ".join(f"out[4 * i + {at}] = __dsqrt_{how}(in[i]);" for at, how in enumerate(ways))}
      float x = in[i];
      {" ".join(f"narrow[4 * i + {at}] = __fsqrt_{how}(x);" for at, how in enumerate(ways))}
    }}"""
    given = np.array([2.0, 3.0, 4.0, 1e-3, 0.25, 7e10, 0.0, np.inf])
    buffers = {"in": given, "out": np.zeros(32), "narrow": np.zeros(32, np.float32)}
    outcome = host.run(text, buffers, (1,), (8,)).outputs
    for dtype, name in ((np.float64, "out"), (np.float32, "narrow")):
        for x, (near, zero, up, down) in zip(
            given.astype(dtype), outcome[name].reshape(8, 4), strict=True
        ):
            assert near == np.sqrt(x)
            assert zero == down
            if math.isfinite(x):
                exact = Fraction(float(x))
                assert Fraction(float(down)) ** 2 <= exact <= Fraction(float(up)) ** 2
                assert up in (down, np.nextafter(down, dtype(np.inf)))


def test_what_does_not_fit_becomes_the_nearest_integer(host):
    text = """
    __global__ void k(const double *in, long long *out) {
      double x = in[threadIdx.x];
      float y = x;
      long long *o = out + 12 * threadIdx.x;
      o[0] = __double2int_rd(x); o[1] = __double2int_ru(x); o[2] = __double2uint_rn(x);
      o[3] = __double2ll_rz(x); o[4] = __double2ull_rz(x); o[5] = __float2int_rn(y);
      o[6] = __float2uint_rz(y); o[7] = __float2ll_rd(y); o[8] = __float2ull_rn(y);
      o[9] = __hiloint2double(__double2hiint(x), __double2loint(x)) == x;
      double two_to_53 = 9007199254740992.0, next = __ll2double_ru((1ll << 53) + 1);
      o[10] = __double_as_longlong(next) - __double_as_longlong(two_to_53);
      o[11] = __float_as_int(__int2float_rd(16777217)) - __float_as_int(16777216.0f);
    }"""
    given = np.array([2.5, -2.5, 1e30, -1e30, np.nan])
    got = host.run(text, {"in": given, "out": np.zeros(60, np.int64)}, (1,), (5,)).outputs["out"]
    least, most, all_set = -(2**63), 2**63 - 1, -1
    np.testing.assert_array_equal(
        got.reshape(5, 12),
        [
            [2, 3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 0],
            [-3, -2, 0, -2, 0, -2, 0, -3, 0, 1, 1, 0],
            [2**31 - 1] * 2
            + [2**32 - 1, most, all_set, 2**31 - 1, 2**32 - 1, most, all_set, 1, 1, 0],
            [-(2**31)] * 2 + [0, least, 0, -(2**31), 0, least, 0, 1, 1, 0],
            [-(2**31)] * 2 + [2**31, least, least, 0, 0, least, least, 0, 1, 0],
        ],
    )


def test_special_functions(host):
    text = """
    __global__ void k(const double *in, double *out) {
      double x = in[threadIdx.x], s, c, *o = out + 14 * threadIdx.x;
      float fs, fc;
      sincospi(x, &s, &c); sincospif(x, &fs, &fc);
      o[0] = s; o[1] = c; o[2] = erf(erfinv(x)); o[3] = erfc(erfcinv(x));
      o[4] = normcdf(normcdfinv(x));
      o[5] = erfcx(x); o[6] = rhypot(x, 2 * x); o[7] = norm3d(x, x, x);
      o[8] = j0(x); o[9] = cyl_bessel_i0(x);
      o[10] = rcbrt(x); o[11] = cyl_bessel_i1f(x); o[12] = fs - sinpif(x);
      o[13] = fc - cospi(float(x));
    }"""
    x = np.array([0.5, 0.125, 0.97, 1e-6, 0.25])
    got = host.run(text, {"in": x, "out": np.zeros(70)}, (1,), (5,)).outputs["out"]
    i0 = [sum((v / 2) ** (2 * k) / math.factorial(k) ** 2 for k in range(20)) for v in x]
    i1 = [
        sum((v / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(20))
        for v in x
    ]
    j0 = [
        sum((-1) ** k * (v / 2) ** (2 * k) / math.factorial(k) ** 2 for k in range(20)) for v in x
    ]
    erfcx = [math.exp(v * v) * math.erfc(v) for v in x]
    near = [np.sin(np.pi * x), np.cos(np.pi * x), x, x, x, erfcx, 1 / (x * 5**0.5), x * 3**0.5]
    near += [j0, i0, np.cbrt(x) ** -1, np.float32(i1), 0 * x, 0 * x]
    np.testing.assert_allclose(got.reshape(5, 14), np.stack(near, 1), rtol=1e-14, atol=1e-16)


def test_integers_in_parts(host):
    rng = np.random.default_rng(3)
    given = rng.integers(0, 2**32, 64, dtype=np.uint32)
    calls = {
        "__vadd4(a, b)": ("u1", lambda a, b: a + b),
        "__vsubss4(a, b)": ("i1", lambda a, b: np.clip(a - b, -128, 127)),
        "__vaddus2(a, b)": ("u2", lambda a, b: np.clip(a + b, 0, 65535)),
        "__vavgs4(a, b)": ("i1", lambda a, b: (a + b + (a + b >= 0)) >> 1),
        "__vavgu2(a, b)": ("u2", lambda a, b: (a + b + 1) >> 1),
        "__vabsdiffu4(a, b)": ("u1", lambda a, b: abs(a - b)),
        "__vmaxs2(a, b)": ("i2", np.maximum),
        "__vcmpgtu4(a, b)": ("u1", lambda a, b: np.where(a > b, 255, 0)),
        "__vsetles2(a, b)": ("i2", lambda a, b: (a <= b) * 1),
        "__vabsss4(a)": ("i1", lambda a, _: np.clip(abs(a), 0, 127)),
        "__vimax3_s16x2(a, b, 0)": ("i2", lambda a, b: np.maximum(np.maximum(a, b), 0)),
    }
    n = len(calls) + 3
    text = f"""
    __global__ void k(const unsigned *in, unsigned *out) {{
      unsigned a = in[threadIdx.x], b = in[32 + threadIdx.x], *o = out + {n} * threadIdx.x;
      {" ".join(f"o[{at}] = {call};" for at, call in enumerate(calls))}
      o[{n - 3}] = __vsadu4(a, b); o[{n - 2}] = __dp4a(int(a), int(b), 5);
      o[{n - 1}] = __fns(a, 7, -2);
    }}"""
    buffers = {"in": given, "out": np.zeros(32 * n, np.uint32)}
    got = host.run(text, buffers, (1,), (32,)).outputs["out"].reshape(32, n)
    for at, (call, (parts, function)) in enumerate(calls.items()):
        a, b = (half.copy().view(parts).astype(int) for half in (given[:32], given[32:]))
        expected = function(a, b).astype(parts.replace("i", "u")).view(np.uint32)
        np.testing.assert_array_equal(got[:, at], expected, call)
    a, b = (half.copy().view("u1").astype(int).reshape(32, 4) for half in (given[:32], given[32:]))
    np.testing.assert_array_equal(got[:, n - 3], abs(a - b).sum(1))
    a, b = (half.copy().view("i1").astype(int).reshape(32, 4) for half in (given[:32], given[32:]))
    np.testing.assert_array_equal(got[:, n - 2].view(np.int32), (a * b).sum(1) + 5)
    below = [[at for at in range(7, -1, -1) if int(x) >> at & 1] for x in given[:32]]
    np.testing.assert_array_equal(got[:, n - 1], [x[1] if len(x) > 1 else 2**32 - 1 for x in below])


def test_integer_intrinsics(host):
    text = """
    __global__ void k(const unsigned *in, unsigned *out, long long *wide) {
      unsigned x = in[2 * threadIdx.x], y = in[2 * threadIdx.x + 1], *o = out + 16 * threadIdx.x;
      o[0] = __popc(x); o[1] = __clz(x); o[2] = __ffs(x); o[3] = __brev(x);
      o[4] = __byte_perm(x, y, 0x7531); o[5] = __funnelshift_l(x, y, 9);
      o[6] = __funnelshift_r(x, y, 41); o[7] = __funnelshift_lc(x, y, 40);
      o[8] = __umulhi(x, y); o[9] = __mulhi(int(x), int(y)); o[10] = __umul24(x, y);
      o[11] = __mul24(int(x), int(y)); o[12] = min(x, 77u); o[13] = max(int(x), -3);
      o[14] = abs(int(x)); o[15] = __usad(x, y, 1);
      wide[threadIdx.x] = __popcll((unsigned long long)x << 32 | y);
      wide[threadIdx.x] += __mul64hi((long long)x << 31, y);
    }"""
    rng = np.random.default_rng(3)
    values = np.concatenate([[0, 1, 0xFFFFFFFF, 0x80000000], rng.integers(0, 2**32, 60)])
    values = values.astype(np.uint32)
    n = len(values) // 2
    arguments = {"in": values, "out": np.zeros(16 * n, np.uint32), "wide": np.zeros(n, np.int64)}
    got = host.run(text, arguments, (1,), (n,)).outputs
    mask = 0xFFFFFFFF

    def signed(value, bits=32):
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    for i, (x, y) in enumerate(values.reshape(-1, 2).tolist()):
        both = y << 32 | x
        packed = both.to_bytes(8, "little")
        expected = [
            x.bit_count(),
            32 - x.bit_length(),
            (x & -x).bit_length(),
            int(f"{x:032b}"[::-1], 2),
            int.from_bytes(bytes(packed[j] for j in (1, 3, 5, 7)), "little"),
            both << 9 >> 32,
            both >> 9,
            x,
            x * y >> 32,
            signed(x) * signed(y) >> 32,
            (x & 0xFFFFFF) * (y & 0xFFFFFF),
            signed(x, 24) * signed(y, 24),
            min(x, 77),
            max(signed(x), -3),
            abs(signed(x)),
            abs(x - y) + 1,
        ]
        np.testing.assert_array_equal(got["out"].reshape(n, 16)[i], [e & mask for e in expected])
        assert got["wide"][i] == both.bit_count() + (signed(x << 31, 64) * y >> 64)
