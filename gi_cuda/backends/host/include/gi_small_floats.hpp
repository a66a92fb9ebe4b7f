// Floating-point numbers of 16 bits, by their bits: half (5 bits of exponent, 10 of mantissa) and bfloat16 (8 and 7).
// Everything is rounded once, to nearest even unless a name says otherwise.
#pragma once

#include "gi_cuda_host.hpp"
#include "gi_rounding.hpp"

static inline unsigned gi_float_bits(float x) { return __float_as_uint(x); }
static inline float gi_bits_float(unsigned bits) { return __uint_as_float(bits); }

// A number to which a little is added that it has no room for: where that is not nothing, it gets its last bit. What
// is rounded in this way can be rounded to a much smaller type as if it were exact.
static inline double gi_odd(double x, double lacks) {
  if (!(lacks != 0) || x - x != 0 || __double_as_longlong(x) & 1) return x;
  return __builtin_nextafter(x, lacks > 0 ? __builtin_inf() : -__builtin_inf());
}
static inline float gi_odd_float(double x) {
  float near = float(x);
  double lacks = x - double(near);
  if (x - x == 0 && near - near != 0) return __builtin_copysignf(FLT_MAX, near);
  if (!(lacks != 0) || gi_float_bits(near) & 1) return near;
  return __builtin_nextafterf(near, lacks > 0 ? __builtin_inff() : -__builtin_inff());
}
static inline double gi_odd_sum(double x, double y) {
  double sum = x + y, part = sum - x;
  return gi_odd(sum, (x - (sum - part)) + (y - part));
}
static inline double gi_odd_integer(long long x) {
  const long long kept = x & ~0x7ffll;
  return x > -(1ll << 53) && x < 1ll << 53 ? double(x) : double(kept | (kept != x ? 0x800 : 0));
}
static inline double gi_odd_integer(unsigned long long x) {
  const unsigned long long kept = x & ~0x7ffull;
  return x < 1ull << 53 ? double(x) : double(kept | (kept != x ? 0x800 : 0));
}

struct gi_half_format {
  static constexpr unsigned infinity = 0x7c00;
  static float widened(unsigned bits) {
    const unsigned size = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    if (size >= infinity) return gi_bits_float(sign | 0x7f800000 | size << 13);
    return gi_bits_float(sign | gi_float_bits(gi_bits_float(size << 13) * 0x1p112f));
  }
  static unsigned narrowed(float x) {
    const unsigned bits = gi_float_bits(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    if (size > 0x7f800000) return 0x7fff;
    if (size >= 0x477ff000) return sign | infinity;
    if (size < 0x38800000) return sign | (gi_float_bits(gi_bits_float(size) + 0.5f) - 0x3f000000);
    return sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  }
};
struct gi_bfloat_format {
  static constexpr unsigned infinity = 0x7f80;
  static float widened(unsigned bits) { return gi_bits_float(bits << 16); }
  static unsigned narrowed(float x) {
    const unsigned bits = gi_float_bits(x);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
};

// The next number upwards or downwards.
static inline unsigned gi_small_next(unsigned bits, bool up) {
  if (!(bits & 0x7fff)) return up ? 1 : 0x8001;
  return bits + ((bits & 0x8000) != 0 == up ? -1 : 1);
}
template <class F>
static inline unsigned gi_small_moved(unsigned near, float x, gi_rn) { return near; }
template <class F>
static inline unsigned gi_small_moved(unsigned near, float x, gi_ru) {
  return F::widened(near) < x ? gi_small_next(near, true) : near;
}
template <class F>
static inline unsigned gi_small_moved(unsigned near, float x, gi_rd) {
  return F::widened(near) > x ? gi_small_next(near, false) : near;
}
template <class F>
static inline unsigned gi_small_moved(unsigned near, float x, gi_rz) {
  return x > 0 ? gi_small_moved<F>(near, x, gi_rd()) : gi_small_moved<F>(near, x, gi_ru());
}

#define GI_EACH_INTEGER(one) \
  one(signed char) one(unsigned char) one(short) one(unsigned short) one(int) one(unsigned) one(long) \
  one(unsigned long) one(long long) one(unsigned long long) one(char)
#define GI_TO(type) operator type() const { return (type)(gi_integer<long long>(gi_whole(float(*this), gi_rz()))); }

template <class F>
struct gi_small {
  unsigned short __x;

  gi_small() = default;
  gi_small(float x) : __x((unsigned short)F::narrowed(x)) {}
  gi_small(double x) : gi_small(gi_odd_float(x)) {}
  gi_small(signed char x) : gi_small(float(x)) {}
  gi_small(unsigned char x) : gi_small(float(x)) {}
  gi_small(char x) : gi_small(float(x)) {}
  gi_small(short x) : gi_small(float(x)) {}
  gi_small(unsigned short x) : gi_small(float(x)) {}
  gi_small(int x) : gi_small(double(x)) {}
  gi_small(unsigned x) : gi_small(double(x)) {}
  gi_small(long long x) : gi_small(gi_odd_integer(x)) {}
  gi_small(unsigned long long x) : gi_small(gi_odd_integer(x)) {}
  gi_small(long x) : gi_small((long long)x) {}
  gi_small(unsigned long x) : gi_small((unsigned long long)x) {}
  template <class G>
  explicit gi_small(const gi_small<G> &x) : gi_small(float(x)) {}
  template <class How>
  static gi_small of(float x, How how) { return bits(gi_small_moved<F>(F::narrowed(x), x, how)); }
  static gi_small bits(unsigned x) {
    gi_small value;
    value.__x = (unsigned short)x;
    return value;
  }

  operator float() const { return F::widened(__x); }
  operator bool() const { return (__x & 0x7fff) != 0; }
  GI_EACH_INTEGER(GI_TO)

  gi_small operator+() const { return *this; }
  gi_small operator-() const { return bits(__x ^ 0x8000); }
  friend gi_small operator+(const gi_small &a, const gi_small &b) { return gi_small(float(a) + float(b)); }
  friend gi_small operator-(const gi_small &a, const gi_small &b) { return gi_small(float(a) - float(b)); }
  friend gi_small operator*(const gi_small &a, const gi_small &b) { return gi_small(float(a) * float(b)); }
  friend gi_small operator/(const gi_small &a, const gi_small &b) { return gi_small(float(a) / float(b)); }
  gi_small &operator+=(const gi_small &b) { return *this = *this + b; }
  gi_small &operator-=(const gi_small &b) { return *this = *this - b; }
  gi_small &operator*=(const gi_small &b) { return *this = *this * b; }
  gi_small &operator/=(const gi_small &b) { return *this = *this / b; }
  gi_small &operator++() { return *this += gi_small(1.0f); }
  gi_small &operator--() { return *this -= gi_small(1.0f); }
  gi_small operator++(int) {
    gi_small old = *this;
    ++*this;
    return old;
  }
  gi_small operator--(int) {
    gi_small old = *this;
    --*this;
    return old;
  }
  friend bool operator==(const gi_small &a, const gi_small &b) { return float(a) == float(b); }
  friend bool operator!=(const gi_small &a, const gi_small &b) { return float(a) != float(b); }
  friend bool operator<(const gi_small &a, const gi_small &b) { return float(a) < float(b); }
  friend bool operator<=(const gi_small &a, const gi_small &b) { return float(a) <= float(b); }
  friend bool operator>(const gi_small &a, const gi_small &b) { return float(a) > float(b); }
  friend bool operator>=(const gi_small &a, const gi_small &b) { return float(a) >= float(b); }
};
#undef GI_TO

// Two of them.
template <class F>
struct alignas(4) gi_small2 {
  typedef gi_small<F> S;
  S x, y;

  gi_small2() = default;
  gi_small2(const S &x, const S &y) : x(x), y(y) {}

  gi_small2 operator+() const { return *this; }
  gi_small2 operator-() const { return {-x, -y}; }
  friend gi_small2 operator+(const gi_small2 &a, const gi_small2 &b) { return {a.x + b.x, a.y + b.y}; }
  friend gi_small2 operator-(const gi_small2 &a, const gi_small2 &b) { return {a.x - b.x, a.y - b.y}; }
  friend gi_small2 operator*(const gi_small2 &a, const gi_small2 &b) { return {a.x * b.x, a.y * b.y}; }
  friend gi_small2 operator/(const gi_small2 &a, const gi_small2 &b) { return {a.x / b.x, a.y / b.y}; }
  gi_small2 &operator+=(const gi_small2 &b) { return *this = *this + b; }
  gi_small2 &operator-=(const gi_small2 &b) { return *this = *this - b; }
  gi_small2 &operator*=(const gi_small2 &b) { return *this = *this * b; }
  gi_small2 &operator/=(const gi_small2 &b) { return *this = *this / b; }
  friend bool operator==(const gi_small2 &a, const gi_small2 &b) { return a.x == b.x && a.y == b.y; }
  friend bool operator!=(const gi_small2 &a, const gi_small2 &b) { return a.x != b.x && a.y != b.y; }
  friend bool operator<(const gi_small2 &a, const gi_small2 &b) { return a.x < b.x && a.y < b.y; }
  friend bool operator<=(const gi_small2 &a, const gi_small2 &b) { return a.x <= b.x && a.y <= b.y; }
  friend bool operator>(const gi_small2 &a, const gi_small2 &b) { return a.x > b.x && a.y > b.y; }
  friend bool operator>=(const gi_small2 &a, const gi_small2 &b) { return a.x >= b.x && a.y >= b.y; }
};

template <class F>
static inline gi_small<F> gi_saturated(gi_small<F> a) {
  return float(a) > 0.0f ? (float(a) < 1.0f ? a : gi_small<F>(1.0f)) : gi_small<F>(0.0f);
}
template <class F>
static inline gi_small<F> gi_relu(gi_small<F> a) {
  return float(a) != float(a) ? gi_small<F>::bits(0x7fff) : float(a) > 0.0f ? a : gi_small<F>(0.0f);
}
template <class F>
static inline gi_small<F> gi_small_fma(gi_small<F> a, gi_small<F> b, gi_small<F> c) {
  return gi_small<F>(gi_odd_sum(double(float(a)) * double(float(b)), double(float(c))));
}
template <class F>
static inline gi_small<F> gi_small_least(gi_small<F> a, gi_small<F> b) {
  const float x = a, y = b;
  if (x != x && y != y) return gi_small<F>::bits(0x7fff);
  return y != y || x < y || (x == y && __builtin_signbit(x)) ? a : b;
}
template <class F>
static inline gi_small<F> gi_small_most(gi_small<F> a, gi_small<F> b) {
  const float x = a, y = b;
  if (x != x && y != y) return gi_small<F>::bits(0x7fff);
  return y != y || x > y || (x == y && !__builtin_signbit(x)) ? a : b;
}

// The intrinsics that both types have, S for one and V for two of them.
#define GI_SMALL_PAIR1(S, V, name, name2, ...)            \
  static inline S name(const S a) { return __VA_ARGS__; } \
  static inline V name2(const V a) { return V(name(a.x), name(a.y)); }
#define GI_SMALL_PAIR2(S, V, name, name2, ...)                       \
  static inline S name(const S a, const S b) { return __VA_ARGS__; } \
  static inline V name2(const V a, const V b) { return V(name(a.x, b.x), name(a.y, b.y)); }
#define GI_SMALL_PAIR3(S, V, name, name2, ...)                                  \
  static inline S name(const S a, const S b, const S c) { return __VA_ARGS__; } \
  static inline V name2(const V a, const V b, const V c) { return V(name(a.x, b.x, c.x), name(a.y, b.y, c.y)); }
#define GI_SMALL_COMPARED(S, V, name, ...)                                                            \
  static inline bool __h##name(const S a, const S b) { return __VA_ARGS__; }                          \
  static inline V __h##name##2(const V a, const V b) { return V(S(float(__h##name(a.x, b.x))), S(float(__h##name(a.y, b.y)))); } \
  static inline bool __hb##name##2(const V a, const V b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }   \
  static inline unsigned __h##name##2_mask(const V a, const V b) {                                    \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);             \
  }
#define GI_SMALL_ORDER(S, V, name, sign)                        \
  GI_SMALL_COMPARED(S, V, name, float(a) sign float(b))         \
  GI_SMALL_COMPARED(S, V, name##u, float(a) sign float(b) || __hisnan(a) || __hisnan(b))
#define GI_SMALL_MATH(S, V, name, ...) GI_SMALL_PAIR1(S, V, h##name, h2##name, S(__VA_ARGS__))

#define GI_SMALL_FUNCTIONS(S, V)                                                                \
  static inline bool __hisnan(const S a) { return float(a) != float(a); }                       \
  static inline int __hisinf(const S a) { return (a.__x & 0x7fff) == S(INFINITY).__x ? (a.__x & 0x8000 ? -1 : 1) : 0; } \
  static inline V __hisnan2(const V a) { return V(S(float(__hisnan(a.x))), S(float(__hisnan(a.y)))); } \
  GI_SMALL_PAIR2(S, V, __hadd, __hadd2, a + b)                                                  \
  GI_SMALL_PAIR2(S, V, __hsub, __hsub2, a - b)                                                  \
  GI_SMALL_PAIR2(S, V, __hmul, __hmul2, a * b)                                                  \
  GI_SMALL_PAIR2(S, V, __hdiv, __h2div, a / b)                                                  \
  GI_SMALL_PAIR2(S, V, __hadd_rn, __hadd2_rn, a + b)                                            \
  GI_SMALL_PAIR2(S, V, __hsub_rn, __hsub2_rn, a - b)                                            \
  GI_SMALL_PAIR2(S, V, __hmul_rn, __hmul2_rn, a * b)                                            \
  GI_SMALL_PAIR2(S, V, __hadd_sat, __hadd2_sat, gi_saturated(a + b))                            \
  GI_SMALL_PAIR2(S, V, __hsub_sat, __hsub2_sat, gi_saturated(a - b))                            \
  GI_SMALL_PAIR2(S, V, __hmul_sat, __hmul2_sat, gi_saturated(a * b))                            \
  GI_SMALL_PAIR3(S, V, __hfma, __hfma2, gi_small_fma(a, b, c))                                  \
  GI_SMALL_PAIR3(S, V, __hfma_sat, __hfma2_sat, gi_saturated(gi_small_fma(a, b, c)))            \
  GI_SMALL_PAIR3(S, V, __hfma_relu, __hfma2_relu, gi_relu(gi_small_fma(a, b, c)))               \
  GI_SMALL_PAIR1(S, V, __hneg, __hneg2, -a)                                                     \
  GI_SMALL_PAIR1(S, V, __habs, __habs2, S::bits(a.__x & 0x7fff))                                \
  GI_SMALL_PAIR2(S, V, __hmin, __hmin2, gi_small_least(a, b))                                   \
  GI_SMALL_PAIR2(S, V, __hmax, __hmax2, gi_small_most(a, b))                                    \
  GI_SMALL_PAIR2(S, V, __hmin_nan, __hmin2_nan, __hisnan(a) || __hisnan(b) ? S::bits(0x7fff) : gi_small_least(a, b)) \
  GI_SMALL_PAIR2(S, V, __hmax_nan, __hmax2_nan, __hisnan(a) || __hisnan(b) ? S::bits(0x7fff) : gi_small_most(a, b))  \
  GI_SMALL_ORDER(S, V, eq, ==)                                                                  \
  GI_SMALL_ORDER(S, V, lt, <)                                                                   \
  GI_SMALL_ORDER(S, V, le, <=)                                                                  \
  GI_SMALL_ORDER(S, V, gt, >)                                                                   \
  GI_SMALL_ORDER(S, V, ge, >=)                                                                  \
  GI_SMALL_COMPARED(S, V, ne, float(a) < float(b) || float(a) > float(b))                       \
  GI_SMALL_COMPARED(S, V, neu, float(a) != float(b))                                            \
  GI_SMALL_MATH(S, V, sqrt, __builtin_sqrtf(a))                                                 \
  GI_SMALL_MATH(S, V, rsqrt, 1.0 / __builtin_sqrt(double(float(a))))                            \
  GI_SMALL_MATH(S, V, rcp, 1.0 / double(float(a)))                                              \
  GI_SMALL_MATH(S, V, exp, expf(a))                                                             \
  GI_SMALL_MATH(S, V, exp2, exp2f(a))                                                           \
  GI_SMALL_MATH(S, V, exp10, exp10f(a))                                                         \
  GI_SMALL_MATH(S, V, log, logf(a))                                                             \
  GI_SMALL_MATH(S, V, log2, log2f(a))                                                           \
  GI_SMALL_MATH(S, V, log10, log10f(a))                                                         \
  GI_SMALL_MATH(S, V, sin, sinf(a))                                                             \
  GI_SMALL_MATH(S, V, cos, cosf(a))                                                             \
  GI_SMALL_MATH(S, V, tanh, tanhf(a))                                                           \
  GI_SMALL_PAIR1(S, V, htanh_approx, h2tanh_approx, htanh(a))                                   \
  GI_SMALL_MATH(S, V, floor, floorf(a))                                                         \
  GI_SMALL_MATH(S, V, ceil, ceilf(a))                                                           \
  GI_SMALL_MATH(S, V, trunc, truncf(a))                                                         \
  GI_SMALL_MATH(S, V, rint, rintf(a))                                                           \
  static inline V __hcmadd(const V a, const V b, const V c) {                                   \
    return V(__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))); \
  }                                                                                             \
  GI_SMALL_ATOMIC(S, old + operand)                                                             \
  GI_SMALL_ATOMIC(V, old + operand)

#ifdef __SANITIZE_THREAD__
#define GI_SMALL_ATOMIC(T, value)                                                                      \
  static __attribute__((no_sanitize("thread"), noinline)) T atomicAdd(T *address, T operand) {         \
    gi_atomic((void *)address, sizeof *address, __builtin_return_address(0));                          \
    T old = *address;                                                                                  \
    *address = value;                                                                                  \
    return old;                                                                                        \
  }
#else
#define GI_SMALL_ATOMIC(T, value)                         \
  static inline T atomicAdd(T *address, T operand) {      \
    T old = *address;                                     \
    *address = value;                                     \
    return old;                                           \
  }
#endif

// Conversions, where `n` is how the type is called in their names: half, bfloat16.
#define GI_SMALL_TO(S, n, name, I, how) \
  static inline I __##n##2##name##_##how(const S x) { return gi_integer<I>(gi_whole(float(x), gi_##how())); }
#define GI_SMALL_ROUNDED(S, n, how)                                                             \
  static inline S __float2##n##_##how(const float x) { return S::of(x, gi_##how()); }           \
  static inline S __int2##n##_##how(const int x) { return S::of(gi_odd_float(x), gi_##how()); } \
  static inline S __uint2##n##_##how(const unsigned x) { return S::of(gi_odd_float(x), gi_##how()); } \
  static inline S __short2##n##_##how(const short x) { return S::of(x, gi_##how()); }           \
  static inline S __ushort2##n##_##how(const unsigned short x) { return S::of(x, gi_##how()); } \
  static inline S __ll2##n##_##how(const long long x) { return S::of(gi_odd_float(gi_odd_integer(x)), gi_##how()); } \
  static inline S __ull2##n##_##how(const unsigned long long x) {                               \
    return S::of(gi_odd_float(gi_odd_integer(x)), gi_##how());                                  \
  }                                                                                             \
  GI_SMALL_TO(S, n, int, int, how)                                                              \
  GI_SMALL_TO(S, n, uint, unsigned, how)                                                        \
  GI_SMALL_TO(S, n, short, short, how)                                                          \
  GI_SMALL_TO(S, n, ushort, unsigned short, how)                                                \
  GI_SMALL_TO(S, n, ll, long long, how)                                                         \
  GI_SMALL_TO(S, n, ull, unsigned long long, how)
#define GI_SMALL_CONVERSIONS(S, V, n)                                                           \
  GI_SMALL_ROUNDED(S, n, rn)                                                                    \
  GI_SMALL_ROUNDED(S, n, rz)                                                                    \
  GI_SMALL_ROUNDED(S, n, ru)                                                                    \
  GI_SMALL_ROUNDED(S, n, rd)                                                                    \
  static inline S __float2##n(const float x) { return S(x); }                                   \
  static inline S __double2##n(const double x) { return S(x); }                                 \
  static inline float __##n##2float(const S x) { return x; }                                    \
  static inline short __##n##_as_short(const S x) { return short(x.__x); }                      \
  static inline unsigned short __##n##_as_ushort(const S x) { return x.__x; }                   \
  static inline S __short_as_##n(const short x) { return S::bits((unsigned short)x); }          \
  static inline S __ushort_as_##n(const unsigned short x) { return S::bits(x); }                \
  static inline V __##n##2##n##2(const S x) { return V(x, x); }                                 \
  static inline V __halves2##n##2(const S x, const S y) { return V(x, y); }                     \
  static inline V __floats2##n##2_rn(const float x, const float y) { return V(S(x), S(y)); }    \
  static inline V __float2##n##2_rn(const float x) { return V(S(x), S(x)); }                    \
  static inline V __float22##n##2_rn(const float2 x) { return V(S(x.x), S(x.y)); }              \
  static inline float2 __##n##22float2(const V x) { return make_float2(x.x, x.y); }             \
  static inline S __low2##n(const V x) { return x.x; }                                          \
  static inline S __high2##n(const V x) { return x.y; }                                         \
  static inline float __low2float(const V x) { return x.x; }                                    \
  static inline float __high2float(const V x) { return x.y; }                                   \
  static inline V __low2##n##2(const V x) { return V(x.x, x.x); }                               \
  static inline V __high2##n##2(const V x) { return V(x.y, x.y); }                              \
  static inline V __lowhigh2highlow(const V x) { return V(x.y, x.x); }                          \
  static inline V __lows2##n##2(const V x, const V y) { return V(x.x, y.x); }                   \
  static inline V __highs2##n##2(const V x, const V y) { return V(x.y, y.y); }                  \
  GI_SMALL_FUNCTIONS(S, V)
