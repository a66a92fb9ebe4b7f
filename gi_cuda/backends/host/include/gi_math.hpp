// Mathematical functions and integer intrinsics.
//
// <cmath> takes longer to read than dozens of kernels take to compile, so the C library's functions are declared here.
// Overloads that C++ has too are templates without parameters: where a source also includes <cmath> and names those,
// its plain functions win and nothing is ambiguous.
#pragma once

#include <stdint.h>

// As <math.h> has them, to the letter: it may come along.
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY (__builtin_inff ())
#define NAN (__builtin_nanf (""))
#define HUGE_VAL (__builtin_huge_val ())
#define HUGE_VALF (__builtin_huge_valf ())

#define GI_MATH1(name)                        \
  extern "C" double name(double) noexcept;    \
  extern "C" float name##f(float) noexcept;   \
  template <int = 0>                          \
  static inline float name(float x) {         \
    return name##f(x);                        \
  }
#define GI_MATH2(name)                               \
  extern "C" double name(double, double) noexcept;   \
  extern "C" float name##f(float, float) noexcept;   \
  template <int = 0>                                 \
  static inline float name(float x, float y) {       \
    return name##f(x, y);                            \
  }

GI_MATH1(sin) GI_MATH1(cos) GI_MATH1(tan) GI_MATH1(asin) GI_MATH1(acos) GI_MATH1(atan)
GI_MATH1(sinh) GI_MATH1(cosh) GI_MATH1(tanh) GI_MATH1(asinh) GI_MATH1(acosh) GI_MATH1(atanh)
GI_MATH1(exp) GI_MATH1(exp2) GI_MATH1(exp10) GI_MATH1(expm1)
GI_MATH1(log) GI_MATH1(log2) GI_MATH1(log10) GI_MATH1(log1p) GI_MATH1(logb)
GI_MATH1(sqrt) GI_MATH1(cbrt) GI_MATH1(erf) GI_MATH1(erfc) GI_MATH1(lgamma) GI_MATH1(tgamma)
GI_MATH1(ceil) GI_MATH1(floor) GI_MATH1(round) GI_MATH1(trunc) GI_MATH1(rint) GI_MATH1(nearbyint) GI_MATH1(fabs)
GI_MATH2(pow) GI_MATH2(atan2) GI_MATH2(fmod) GI_MATH2(hypot) GI_MATH2(fmax) GI_MATH2(fmin)
GI_MATH2(copysign) GI_MATH2(remainder) GI_MATH2(fdim) GI_MATH2(nextafter)

#undef GI_MATH1
#undef GI_MATH2

extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
void sincos(double, double *, double *) noexcept;
void sincosf(float, float *, float *) noexcept;
int abs(int) noexcept;
long labs(long) noexcept;
long long llabs(long long) noexcept;
}

template <int = 0> static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
template <int = 0> static inline float ldexp(float x, int e) { return ldexpf(x, e); }
template <int = 0> static inline float pow(float x, int y) { return powf(x, float(y)); }
template <int = 0> static inline double pow(double x, int y) { return pow(x, double(y)); }
template <int = 0> static inline float abs(float x) { return __builtin_fabsf(x); }
template <int = 0> static inline double abs(double x) { return __builtin_fabs(x); }
template <int = 0> static inline long abs(long x) { return x < 0 ? -x : x; }
template <int = 0> static inline long long abs(long long x) { return x < 0 ? -x : x; }

// <math.h> makes macros of these.
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
template <int = 0> static inline bool isnan(float x) { return __builtin_isnan(x); }
template <int = 0> static inline bool isnan(double x) { return __builtin_isnan(x); }
template <int = 0> static inline bool isinf(float x) { return __builtin_isinf(x); }
template <int = 0> static inline bool isinf(double x) { return __builtin_isinf(x); }
template <int = 0> static inline bool isfinite(float x) { return __builtin_isfinite(x); }
template <int = 0> static inline bool isfinite(double x) { return __builtin_isfinite(x); }
template <int = 0> static inline bool signbit(float x) { return __builtin_signbit(x); }
template <int = 0> static inline bool signbit(double x) { return __builtin_signbit(x); }

static inline double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
static inline float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float fdividef(float x, float y) { return x / y; }

#define GI_MIN_MAX(result, left, right)       \
  static inline result min(left a, right b) { \
    result x = a, y = b;                      \
    return x < y ? x : y;                     \
  }                                           \
  static inline result max(left a, right b) { \
    result x = a, y = b;                      \
    return x > y ? x : y;                     \
  }
GI_MIN_MAX(int, int, int)
GI_MIN_MAX(unsigned, unsigned, unsigned)
GI_MIN_MAX(unsigned, int, unsigned)
GI_MIN_MAX(unsigned, unsigned, int)
GI_MIN_MAX(long, long, long)
GI_MIN_MAX(unsigned long, unsigned long, unsigned long)
GI_MIN_MAX(unsigned long, long, unsigned long)
GI_MIN_MAX(unsigned long, unsigned long, long)
GI_MIN_MAX(long long, long long, long long)
GI_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
GI_MIN_MAX(unsigned long long, long long, unsigned long long)
GI_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef GI_MIN_MAX
// A NaN loses against a number, as on the device.
static inline float min(float a, float b) { return __builtin_fminf(a, b); }
static inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static inline double min(double a, double b) { return __builtin_fmin(a, b); }
static inline double max(double a, double b) { return __builtin_fmax(a, b); }
static inline double min(float a, double b) { return __builtin_fmin(a, b); }
static inline double max(float a, double b) { return __builtin_fmax(a, b); }
static inline double min(double a, float b) { return __builtin_fmin(a, b); }
static inline double max(double a, float b) { return __builtin_fmax(a, b); }
static inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }

// Integer intrinsics.
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  uint64_t bytes = uint64_t(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((uint64_t(high) << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return unsigned(((uint64_t(high) << 32 | low) << (shift < 32 ? shift : 32)) >> 32);
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return unsigned((uint64_t(high) << 32 | low) >> (shift < 32 ? shift : 32));
}
static inline int __mul24(int x, int y) {
  return int(unsigned(int(unsigned(x) << 8) >> 8) * unsigned(int(unsigned(y) << 8) >> 8));
}
static inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
static inline int __mulhi(int x, int y) { return int(int64_t(x) * y >> 32); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned(uint64_t(x) * y >> 32); }
static inline long long __mul64hi(long long x, long long y) { return (long long)((__int128)x * y >> 64); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)((unsigned __int128)x * y >> 64);
}
static inline unsigned __sad(int x, int y, unsigned z) {
  return z + (x < y ? unsigned(y) - unsigned(x) : unsigned(x) - unsigned(y));
}
static inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }
static inline int __rhadd(int x, int y) { return int((int64_t(x) + y + 1) >> 1); }
static inline unsigned __urhadd(unsigned x, unsigned y) { return unsigned((uint64_t(x) + y + 1) >> 1); }
static inline int __hadd(int x, int y) { return int((int64_t(x) + y) >> 1); }
static inline unsigned __uhadd(unsigned x, unsigned y) { return unsigned((uint64_t(x) + y) >> 1); }

// Floating-point intrinsics; the fast ones are as exact as the plain ones here. glibc's <math.h> declares functions
// of these very names, so these have to be the same functions, which only the linker sees under other names.
extern "C" {
float __expf(float) noexcept __asm__("expf");
float __exp10f(float) noexcept __asm__("exp10f");
float __logf(float) noexcept __asm__("logf");
float __log2f(float) noexcept __asm__("log2f");
float __log10f(float) noexcept __asm__("log10f");
float __sinf(float) noexcept __asm__("sinf");
float __cosf(float) noexcept __asm__("cosf");
float __tanf(float) noexcept __asm__("tanf");
float __tanhf(float) noexcept __asm__("tanhf");
float __powf(float, float) noexcept __asm__("powf");
void __sincosf(float, float *, float *) noexcept __asm__("sincosf");
}
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline float __fdividef(float x, float y) { return x / y; }
static inline double fdivide(double x, double y) { return x / y; }

// Bits.
#define GI_REINTERPRET(name, to, from)          \
  static inline to name(from x) {               \
    to bits;                                    \
    __builtin_memcpy(&bits, &x, sizeof bits);   \
    return bits;                                \
  }
GI_REINTERPRET(__float_as_int, int, float)
GI_REINTERPRET(__float_as_uint, unsigned, float)
GI_REINTERPRET(__int_as_float, float, int)
GI_REINTERPRET(__uint_as_float, float, unsigned)
GI_REINTERPRET(__double_as_longlong, long long, double)
GI_REINTERPRET(__longlong_as_double, double, long long)
#undef GI_REINTERPRET

static inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
static inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)(uint64_t(unsigned(high)) << 32 | unsigned(low)));
}
