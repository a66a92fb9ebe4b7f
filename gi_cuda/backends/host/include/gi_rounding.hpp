// Arithmetic and conversions that say how they round: to nearest even (rn), towards zero (rz), up (ru), down (rd).
//
// What is exact is a number in a wider type, and the sign of what even that one lacks. Its nearest neighbour in the
// narrower type is then moved by one place where it lies on the wrong side.
#pragma once

#include <stdint.h>

#if __LDBL_MANT_DIG__ == 113
typedef long double gi_quad;
#else
typedef __float128 gi_quad;
#endif

struct gi_rn {};
struct gi_rz {};
struct gi_ru {};
struct gi_rd {};

template <class T> struct gi_wider;
template <> struct gi_wider<float> { typedef double type; };
template <> struct gi_wider<double> { typedef gi_quad type; };

static inline float gi_next(float x, float to) { return __builtin_nextafterf(x, to); }
static inline double gi_next(double x, double to) { return __builtin_nextafter(x, to); }

template <class W>
static inline int gi_sign(W x) {
  return (x > 0) - (x < 0);
}

// `off`: the sign of the exact number minus the rounded one.
template <class T>
static inline T gi_moved(T rounded, int, gi_rn) { return rounded; }
template <class T>
static inline T gi_moved(T rounded, int off, gi_ru) { return off > 0 ? gi_next(rounded, T(__builtin_inf())) : rounded; }
template <class T>
static inline T gi_moved(T rounded, int off, gi_rd) { return off < 0 ? gi_next(rounded, T(-__builtin_inf())) : rounded; }
template <class T>
static inline T gi_moved(T rounded, int off, gi_rz) { return rounded * off < 0 ? gi_next(rounded, T(0)) : rounded; }

template <class T, class How, class W>
static inline T gi_round(W wide, int lacks, How how) {
  if (wide != wide || wide - wide != 0) return T(wide);  // no number, or infinite
  T rounded = T(wide);
  int off = gi_sign(wide - W(rounded));
  // Between two numbers of T what is lacking decides only where the wide one is one of them.
  return gi_moved(rounded, off ? off : lacks, how);
}

template <class T, class How>
static inline T gi_exact_zero(T like, How) { return like; }
template <class T>
static inline T gi_exact_zero(T like, gi_rd) { return like == 0 && !__builtin_signbit(like) ? -like : like; }

template <class T, class How>
static inline T gi_add(T a, T b, How how) {
  typedef typename gi_wider<T>::type W;
  W x = a, y = b, sum = x + y, part = sum - x;
  if (sum == 0) return a == 0 && b == 0 && __builtin_signbit(a) == __builtin_signbit(b) ? a : gi_exact_zero(T(0), how);
  return gi_round<T>(sum, gi_sign((x - (sum - part)) + (y - part)), how);
}
template <class T, class How>
static inline T gi_multiply(T a, T b, How how) {
  typedef typename gi_wider<T>::type W;
  return a == 0 || b == 0 ? a * b : gi_round<T>(W(a) * W(b), 0, how);
}
template <class T, class How>
static inline T gi_divide(T a, T b, How how) {
  typedef typename gi_wider<T>::type W;
  if (a == 0 || b == 0 || b - b != 0) return a / b;
  // No quotient of two numbers of T is so near to a number of T without being it.
  return gi_round<T>(W(a) / W(b), 0, how);
}
template <class T, class How>
static inline T gi_multiply_add(T a, T b, T c, How how) {
  typedef typename gi_wider<T>::type W;
  W x = W(a) * W(b), y = c, sum = x + y, part = sum - x;
  if (sum == 0) {
    bool alike = x == 0 && y == 0 && __builtin_signbit(a) != __builtin_signbit(b) == __builtin_signbit(c);
    return alike ? c : gi_exact_zero(T(0), how);
  }
  return gi_round<T>(sum, gi_sign((x - (sum - part)) + (y - part)), how);
}
template <class T, class How>
static inline T gi_root(T a, T root, How how) {
  typedef typename gi_wider<T>::type W;
  if (!(a > 0) || a - a != 0) return root;
  return gi_moved(root, gi_sign(W(a) - W(root) * W(root)), how);
}

#define GI_ROUNDED(how)                                                                                              \
  static inline float __fadd_##how(float x, float y) { return gi_add(x, y, gi_##how()); }                            \
  static inline float __fsub_##how(float x, float y) { return gi_add(x, -y, gi_##how()); }                           \
  static inline float __fmul_##how(float x, float y) { return gi_multiply(x, y, gi_##how()); }                       \
  static inline float __fdiv_##how(float x, float y) { return gi_divide(x, y, gi_##how()); }                         \
  static inline float __frcp_##how(float x) { return gi_divide(1.0f, x, gi_##how()); }                               \
  static inline float __fsqrt_##how(float x) { return gi_root(x, __builtin_sqrtf(x), gi_##how()); }                  \
  static inline float __fmaf_##how(float x, float y, float z) { return gi_multiply_add(x, y, z, gi_##how()); }       \
  static inline double __dadd_##how(double x, double y) { return gi_add(x, y, gi_##how()); }                         \
  static inline double __dsub_##how(double x, double y) { return gi_add(x, -y, gi_##how()); }                        \
  static inline double __dmul_##how(double x, double y) { return gi_multiply(x, y, gi_##how()); }                    \
  static inline double __ddiv_##how(double x, double y) { return gi_divide(x, y, gi_##how()); }                      \
  static inline double __drcp_##how(double x) { return gi_divide(1.0, x, gi_##how()); }                              \
  static inline double __dsqrt_##how(double x) { return gi_root(x, __builtin_sqrt(x), gi_##how()); }                 \
  static inline double __fma_##how(double x, double y, double z) { return gi_multiply_add(x, y, z, gi_##how()); }
GI_ROUNDED(rz) GI_ROUNDED(ru) GI_ROUNDED(rd)
#undef GI_ROUNDED

static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline float __frsqrt_rn(float x) { return float(1.0 / __builtin_sqrt(double(x))); }
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
static inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

// To integers. What does not fit becomes the nearest that does. NaN becomes 0 from float to 32 bits, and the sign bit
// alone otherwise.
static inline float gi_whole(float x, gi_rn) { return __builtin_rintf(x); }
static inline float gi_whole(float x, gi_rz) { return __builtin_truncf(x); }
static inline float gi_whole(float x, gi_ru) { return __builtin_ceilf(x); }
static inline float gi_whole(float x, gi_rd) { return __builtin_floorf(x); }
static inline double gi_whole(double x, gi_rn) { return __builtin_rint(x); }
static inline double gi_whole(double x, gi_rz) { return __builtin_trunc(x); }
static inline double gi_whole(double x, gi_ru) { return __builtin_ceil(x); }
static inline double gi_whole(double x, gi_rd) { return __builtin_floor(x); }

template <class I, class T>
static inline I gi_integer(T whole) {
  constexpr I sign = I(I(1) << (8 * sizeof(I) - 1)), least = I(-1) < 0 ? sign : I(0), most = I(~least);
  if (whole != whole) return sizeof(I) < 8 && sizeof(T) < 8 ? I(0) : sign;
  // `most` may round up to what no longer fits.
  return whole <= T(least) ? least : whole >= T(most) ? most : I(whole);
}

#define GI_TO_INTEGER(how)                                                                                       \
  static inline int __float2int_##how(float x) { return gi_integer<int>(gi_whole(x, gi_##how())); }              \
  static inline unsigned __float2uint_##how(float x) { return gi_integer<unsigned>(gi_whole(x, gi_##how())); }   \
  static inline long long __float2ll_##how(float x) { return gi_integer<long long>(gi_whole(x, gi_##how())); }   \
  static inline unsigned long long __float2ull_##how(float x) {                                                  \
    return gi_integer<unsigned long long>(gi_whole(x, gi_##how()));                                              \
  }                                                                                                              \
  static inline int __double2int_##how(double x) { return gi_integer<int>(gi_whole(x, gi_##how())); }            \
  static inline unsigned __double2uint_##how(double x) { return gi_integer<unsigned>(gi_whole(x, gi_##how())); } \
  static inline long long __double2ll_##how(double x) { return gi_integer<long long>(gi_whole(x, gi_##how())); } \
  static inline unsigned long long __double2ull_##how(double x) {                                                \
    return gi_integer<unsigned long long>(gi_whole(x, gi_##how()));                                              \
  }
GI_TO_INTEGER(rn) GI_TO_INTEGER(rz) GI_TO_INTEGER(ru) GI_TO_INTEGER(rd)
#undef GI_TO_INTEGER

#define GI_FROM_INTEGER(how)                                                                                     \
  static inline float __int2float_##how(int x) { return gi_round<float>(double(x), 0, gi_##how()); }             \
  static inline float __uint2float_##how(unsigned x) { return gi_round<float>(double(x), 0, gi_##how()); }       \
  static inline float __ll2float_##how(long long x) { return gi_round<float>(gi_quad(x), 0, gi_##how()); }       \
  static inline float __ull2float_##how(unsigned long long x) { return gi_round<float>(gi_quad(x), 0, gi_##how()); } \
  static inline double __ll2double_##how(long long x) { return gi_round<double>(gi_quad(x), 0, gi_##how()); }    \
  static inline double __ull2double_##how(unsigned long long x) {                                                \
    return gi_round<double>(gi_quad(x), 0, gi_##how());                                                          \
  }                                                                                                              \
  static inline float __double2float_##how(double x) { return gi_round<float>(x, 0, gi_##how()); }
GI_FROM_INTEGER(rz) GI_FROM_INTEGER(ru) GI_FROM_INTEGER(rd)
#undef GI_FROM_INTEGER

static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __ll2float_rn(long long x) { return float(x); }
static inline float __ull2float_rn(unsigned long long x) { return float(x); }
static inline double __int2double_rn(int x) { return double(x); }
static inline double __uint2double_rn(unsigned x) { return double(x); }
static inline double __ll2double_rn(long long x) { return double(x); }
static inline double __ull2double_rn(unsigned long long x) { return double(x); }
static inline float __double2float_rn(double x) { return float(x); }
