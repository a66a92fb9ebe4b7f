// Functions that CUDA has besides those of C's <math.h>, and the rarer ones of that.
#pragma once

#include "gi_math.hpp"

extern "C" {
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double scalbln(double, long) noexcept;
float scalblnf(float, long) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
double remquo(double, double, int *) noexcept;
float remquof(float, float, int *) noexcept;
double nan(const char *) noexcept;
float nanf(const char *) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double jn(int, double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
double yn(int, double) noexcept;
float j0f(float) noexcept;
float j1f(float) noexcept;
float jnf(int, float) noexcept;
float y0f(float) noexcept;
float y1f(float) noexcept;
float ynf(int, float) noexcept;
}

// As in gi_math.hpp: templates yield to plain functions of <cmath>.
template <int = 0> static inline float scalbn(float x, int e) { return scalbnf(x, e); }
template <int = 0> static inline float modf(float x, float *whole) { return modff(x, whole); }
template <int = 0> static inline float frexp(float x, int *e) { return frexpf(x, e); }
template <int = 0> static inline float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }
template <int = 0> static inline int ilogb(float x) { return ilogbf(x); }
template <int = 0> static inline long lrint(float x) { return lrintf(x); }
template <int = 0> static inline long lround(float x) { return lroundf(x); }
template <int = 0> static inline long long llrint(float x) { return llrintf(x); }
template <int = 0> static inline long long llround(float x) { return llroundf(x); }
static inline void sincos(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }
static inline float powif(float x, int e) { return powf(x, float(e)); }
static inline double powi(double x, int e) { return pow(x, double(e)); }
static inline long long llmin(long long a, long long b) { return a < b ? a : b; }
static inline long long llmax(long long a, long long b) { return a > b ? a : b; }
static inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
static inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }

// Of pi times x: exact where the answer is 0, 1 or -1.
static inline double sinpi(double x) {
  const double pi = 3.14159265358979323846;
  double turn = x - 2.0 * __builtin_rint(0.5 * x), size = __builtin_fabs(turn);
  if (size > 0.5) size = 1.0 - size;
  return __builtin_copysign(size <= 0.25 ? sin(pi * size) : cos(pi * (0.5 - size)), turn);
}
static inline double cospi(double x) {
  const double pi = 3.14159265358979323846;
  double size = __builtin_fabs(x - 2.0 * __builtin_rint(0.5 * x));
  return size <= 0.25 ? cos(pi * size) : size <= 0.75 ? sin(pi * (0.5 - size)) : -cos(pi * (1.0 - size));
}
static inline void sincospi(double x, double *sine, double *cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
static inline double gi_norm(int dimensions, const double *p) {
  double length = 0.0;
  for (int i = 0; i < dimensions; ++i) length = hypot(length, p[i]);
  return length;
}
static inline double norm(int dimensions, const double *p) { return gi_norm(dimensions, p); }
static inline double rnorm(int dimensions, const double *p) { return 1.0 / gi_norm(dimensions, p); }
static inline float normf(int dimensions, const float *p) {
  double length = 0.0;
  for (int i = 0; i < dimensions; ++i) length = hypot(length, double(p[i]));
  return float(length);
}
static inline float rnormf(int dimensions, const float *p) { return 1.0f / normf(dimensions, p); }
static inline double norm3d(double x, double y, double z) { return hypot(hypot(x, y), z); }
static inline double norm4d(double x, double y, double z, double w) { return hypot(norm3d(x, y, z), w); }
static inline double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
static inline double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
static inline double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }

static inline double erfcx(double x) {
  if (x < 25.0) return exp(x * x) * erfc(x);
  const double over = 1.0 / (x * x);
  return 0.56418958354775628695 / x * (1.0 + over * (-0.5 + over * (0.75 - 1.875 * over)));
}
// A first guess (Winitzki's), then Halley's steps on whichever of erf and erfc keeps its digits there.
static inline double gi_inverse_erfc(double y) {
  if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? __builtin_inf() : y == 2.0 ? -__builtin_inf() : __builtin_nan("");
  const double small = y > 1.0 ? 2.0 - y : y, a = log(small * (2.0 - small)), b = 4.3307467508 + 0.5 * a;
  double x = __builtin_sqrt(__builtin_sqrt(b * b - a / 0.147) - b);
  for (int step = 0; step < 4; ++step) {
    const double slope = 1.12837916709551257390 * exp(-x * x), error = (erfc(x) - small) / slope;
    if (slope > 0.0) x += error / (1.0 + x * error);
  }
  return y > 1.0 ? -x : x;
}
static inline double erfinv(double y) {
  if (__builtin_fabs(y) > 0.5) return y > 0.0 ? gi_inverse_erfc(1.0 - y) : -gi_inverse_erfc(1.0 + y);
  double x = 0.88622692545275801365 * y;
  for (int step = 0; step < 5; ++step) {
    const double error = (erf(x) - y) / (1.12837916709551257390 * exp(-x * x));
    x -= error / (1.0 + x * error);
  }
  return x;
}
static inline double erfcinv(double y) { return y > 0.5 && y < 1.5 ? erfinv(1.0 - y) : gi_inverse_erfc(y); }
static inline double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
static inline double normcdfinv(double p) { return -1.41421356237309504880 * erfcinv(2.0 * p); }

// Modified Bessel functions by their power series, whose terms are all positive.
static inline double gi_bessel_i(int order, double x) {
  const double quarter = 0.25 * x * x;
  double term = order ? 0.5 * x : 1.0, sum = term;
  for (int k = 1; k < 2000 && __builtin_fabs(term) > 1e-17 * __builtin_fabs(sum); ++k) {
    term *= quarter / (double(k) * (k + order));
    sum += term;
  }
  return sum;
}
static inline double cyl_bessel_i0(double x) { return gi_bessel_i(0, x); }
static inline double cyl_bessel_i1(double x) { return gi_bessel_i(1, x); }

// In float: what double gives, rounded.
#define GI_FLOAT1(name) \
  static inline float name##f(float x) { return float(name(double(x))); } \
  static inline float name(float x) { return name##f(x); }
GI_FLOAT1(sinpi) GI_FLOAT1(cospi) GI_FLOAT1(rcbrt) GI_FLOAT1(erfcx) GI_FLOAT1(erfinv) GI_FLOAT1(erfcinv)
GI_FLOAT1(normcdf) GI_FLOAT1(normcdfinv) GI_FLOAT1(cyl_bessel_i0) GI_FLOAT1(cyl_bessel_i1)
#undef GI_FLOAT1
static inline void sincospif(float x, float *sine, float *cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
static inline void sincospi(float x, float *sine, float *cosine) { sincospif(x, sine, cosine); }
static inline float rhypotf(float x, float y) { return float(rhypot(double(x), double(y))); }
static inline float norm3df(float x, float y, float z) { return float(norm3d(x, y, z)); }
static inline float rnorm3df(float x, float y, float z) { return float(rnorm3d(x, y, z)); }
static inline float norm4df(float x, float y, float z, float w) { return float(norm4d(x, y, z, w)); }
static inline float rnorm4df(float x, float y, float z, float w) { return float(rnorm4d(x, y, z, w)); }
