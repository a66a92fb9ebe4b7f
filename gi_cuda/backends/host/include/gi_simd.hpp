// Integers as vectors of two or four parts, and what else newer devices have for integers.
#pragma once

#include <stdint.h>

// A function of parts: of `bits` each, as T has them; what it gives is cut to a part again.
template <int bits, class T, class Function>
static inline unsigned gi_parts(Function function, unsigned a, unsigned b = 0, unsigned c = 0) {
  constexpr unsigned part = (1u << bits) - 1;
  unsigned result = 0;
  for (int at = 0; at < 32; at += bits)
    result |= (unsigned(function(int(T(a >> at)), int(T(b >> at)), int(T(c >> at)))) & part) << at;
  return result;
}
template <int bits, class T>
static inline int gi_within(int value) {
  constexpr int most = T(-1) < 0 ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, least = T(-1) < 0 ? -most - 1 : 0;
  return value < least ? least : value > most ? most : value;
}

#define GI_PARTS1(name, bits, T, value) \
  static inline unsigned name(unsigned a) { return gi_parts<bits, T>([](int a, int, int) { return value; }, a); }
#define GI_PARTS2(name, bits, T, value)                                      \
  static inline unsigned name(unsigned a, unsigned b) {                      \
    return gi_parts<bits, T>([](int a, int b, int) { return value; }, a, b); \
  }
#define GI_PARTS3(name, bits, T, value)                                                \
  static inline unsigned name(unsigned a, unsigned b, unsigned c) {                    \
    return gi_parts<bits, T>([](int a, int b, int c) { return value; }, a, b, c);      \
  }
#define GI_COMPARED(n, bits, S, U, name, sign)                            \
  GI_PARTS2(__vcmp##name##s##n, bits, S, a sign b ? -1 : 0)               \
  GI_PARTS2(__vcmp##name##u##n, bits, U, a sign b ? -1 : 0)               \
  GI_PARTS2(__vset##name##s##n, bits, S, a sign b)                        \
  GI_PARTS2(__vset##name##u##n, bits, U, a sign b)
#define GI_VIDEO(n, bits, S, U)                                                                 \
  GI_PARTS1(__vabs##n, bits, S, a < 0 ? -a : a)                                                 \
  GI_PARTS1(__vabsss##n, bits, S, (gi_within<bits, S>(a < 0 ? -a : a)))                         \
  GI_PARTS1(__vneg##n, bits, S, -a)                                                             \
  GI_PARTS1(__vnegss##n, bits, S, (gi_within<bits, S>(-a)))                                     \
  GI_PARTS2(__vadd##n, bits, U, a + b)                                                          \
  GI_PARTS2(__vaddss##n, bits, S, (gi_within<bits, S>(a + b)))                                  \
  GI_PARTS2(__vaddus##n, bits, U, (gi_within<bits, U>(a + b)))                                  \
  GI_PARTS2(__vsub##n, bits, U, a - b)                                                          \
  GI_PARTS2(__vsubss##n, bits, S, (gi_within<bits, S>(a - b)))                                  \
  GI_PARTS2(__vsubus##n, bits, U, (gi_within<bits, U>(a - b)))                                  \
  GI_PARTS2(__vavgs##n, bits, S, (a + b + (a + b >= 0)) >> 1)                                   \
  GI_PARTS2(__vavgu##n, bits, U, (a + b + 1) >> 1)                                              \
  GI_PARTS2(__vhaddu##n, bits, U, (a + b) >> 1)                                                 \
  GI_PARTS2(__vabsdiffs##n, bits, S, a < b ? b - a : a - b)                                     \
  GI_PARTS2(__vabsdiffu##n, bits, U, a < b ? b - a : a - b)                                     \
  GI_PARTS2(__vmaxs##n, bits, S, a > b ? a : b)                                                 \
  GI_PARTS2(__vmaxu##n, bits, U, a > b ? a : b)                                                 \
  GI_PARTS2(__vmins##n, bits, S, a < b ? a : b)                                                 \
  GI_PARTS2(__vminu##n, bits, U, a < b ? a : b)                                                 \
  GI_PARTS2(__vcmpeq##n, bits, U, a == b ? -1 : 0)                                              \
  GI_PARTS2(__vcmpne##n, bits, U, a != b ? -1 : 0)                                              \
  GI_PARTS2(__vseteq##n, bits, U, a == b)                                                       \
  GI_PARTS2(__vsetne##n, bits, U, a != b)                                                       \
  GI_COMPARED(n, bits, S, U, ge, >=)                                                            \
  GI_COMPARED(n, bits, S, U, gt, >)                                                             \
  GI_COMPARED(n, bits, S, U, le, <=)                                                            \
  GI_COMPARED(n, bits, S, U, lt, <)                                                             \
  static inline unsigned __vsads##n(unsigned a, unsigned b) { return gi_sum<bits>(__vabsdiffs##n(a, b)); } \
  static inline unsigned __vsadu##n(unsigned a, unsigned b) { return gi_sum<bits>(__vabsdiffu##n(a, b)); }

template <int bits>
static inline unsigned gi_sum(unsigned parts) {
  unsigned sum = 0;
  for (int at = 0; at < 32; at += bits) sum += parts >> at & ((1u << bits) - 1);
  return sum;
}
GI_VIDEO(2, 16, int16_t, uint16_t)
GI_VIDEO(4, 8, int8_t, uint8_t)

// The larger or smaller of two or three, of a sum and another, or of that and zero.
#define GI_MOST(name, sign)                                                                                      \
  static inline int __vi##name##3_s32(int a, int b, int c) { return gi_##name(gi_##name(a, b), c); }             \
  static inline unsigned __vi##name##3_u32(unsigned a, unsigned b, unsigned c) { return gi_##name(gi_##name(a, b), c); } \
  static inline int __vi##name##_s32_relu(int a, int b) { return gi_max(gi_##name(a, b), 0); }                   \
  static inline int __vi##name##3_s32_relu(int a, int b, int c) { return gi_max(__vi##name##3_s32(a, b, c), 0); } \
  static inline int __viadd##name##_s32(int a, int b, int c) { return gi_##name(a + b, c); }                     \
  static inline unsigned __viadd##name##_u32(unsigned a, unsigned b, unsigned c) { return gi_##name(a + b, c); } \
  static inline int __viadd##name##_s32_relu(int a, int b, int c) { return gi_max(gi_##name(a + b, c), 0); }     \
  static inline int __vib##name##_s32(int a, int b, bool *first) { return (*first = a sign b) ? a : b; }         \
  static inline unsigned __vib##name##_u32(unsigned a, unsigned b, bool *first) { return (*first = a sign b) ? a : b; } \
  GI_PARTS2(__vi##name##_s16x2_relu, 16, int16_t, gi_max(gi_##name(a, b), 0))                                    \
  GI_PARTS3(__vi##name##3_s16x2, 16, int16_t, gi_##name(gi_##name(a, b), c))                                     \
  GI_PARTS3(__vi##name##3_u16x2, 16, uint16_t, gi_##name(gi_##name(a, b), c))                                    \
  GI_PARTS3(__vi##name##3_s16x2_relu, 16, int16_t, gi_max(gi_##name(gi_##name(a, b), c), 0))                     \
  GI_PARTS3(__viadd##name##_s16x2, 16, int16_t, gi_##name(int(int16_t(a + b)), c))                               \
  GI_PARTS3(__viadd##name##_u16x2, 16, uint16_t, gi_##name(int(uint16_t(a + b)), c))                             \
  GI_PARTS3(__viadd##name##_s16x2_relu, 16, int16_t, gi_max(gi_##name(int(int16_t(a + b)), c), 0))
template <class T> static inline T gi_max(T a, T b) { return a > b ? a : b; }
template <class T> static inline T gi_min(T a, T b) { return a < b ? a : b; }
GI_MOST(max, >=)
GI_MOST(min, <=)

#undef GI_MOST
#undef GI_VIDEO
#undef GI_COMPARED
#undef GI_PARTS3
#undef GI_PARTS2
#undef GI_PARTS1

// Products of parts, summed up.
#define GI_DOT(type, S, H)                                                                \
  static inline type __dp4a(type a, type b, type c) {                                     \
    for (int at = 0; at < 32; at += 8) c += type(S(a >> at)) * type(S(b >> at));          \
    return c;                                                                             \
  }                                                                                       \
  static inline type __dp2a_lo(type a, type b, type c) {                                  \
    return c + type(H(a)) * type(S(b)) + type(H(a >> 16)) * type(S(b >> 8));              \
  }                                                                                       \
  static inline type __dp2a_hi(type a, type b, type c) {                                  \
    return c + type(H(a)) * type(S(b >> 16)) + type(H(a >> 16)) * type(S(b >> 24));       \
  }
GI_DOT(int, int8_t, int16_t)
GI_DOT(unsigned, uint8_t, uint16_t)
#undef GI_DOT

// The lane of the offset-th set bit from base on, upwards or downwards; all bits set where there is none.
static inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return mask >> base & 1 ? base : ~0u;
  const int step = offset > 0 ? 1 : -1;
  for (int at = int(base), left = offset * step; at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && --left == 0) return unsigned(at);
  return ~0u;
}
