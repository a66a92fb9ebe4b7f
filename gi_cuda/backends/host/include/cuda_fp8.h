// Stands for CUDA's header of this name in device code: floating-point numbers of 8 bits, E4M3 and E5M2 (Micikevicius et
// al. 2022, "FP8 formats for deep learning"). Everything is rounded once, to nearest even. There is no E8M0.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

// E4M3 has no infinity, and one NaN of each sign.
struct gi_fp8_format {
  int mantissa, bias;
  unsigned most, beyond;  // the largest finite number; what is too large for it where that does not saturate
  static constexpr unsigned nan = 0x7f;
};
static inline gi_fp8_format gi_fp8_of(__nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? gi_fp8_format{3, 7, 0x7e, 0x7f} : gi_fp8_format{2, 15, 0x7b, 0x7c};
}
static inline double gi_fp8_size(unsigned bits, const gi_fp8_format &format) {
  const int exponent = int(bits >> format.mantissa);
  const unsigned hidden = exponent ? 1u << format.mantissa : 0;
  const unsigned whole = (bits & ((1u << format.mantissa) - 1)) | hidden;
  return __builtin_ldexp(double(whole), (exponent ? exponent : 1) - format.bias - format.mantissa);
}
static inline unsigned gi_fp8_narrowed(double size, const gi_fp8_format &format, bool saturates) {
  int exponent = 1 - format.bias;
  if (size >= __builtin_ldexp(1.0, exponent)) __builtin_frexp(size, &exponent), --exponent;
  const double whole = __builtin_rint(__builtin_ldexp(size, format.mantissa - exponent));
  const unsigned least = 1u << format.mantissa;
  if (__builtin_ldexp(whole, exponent - format.mantissa) > gi_fp8_size(format.most, format))
    return saturates ? format.most : format.beyond;
  return (unsigned(exponent + format.bias) << format.mantissa) + unsigned(whole) - least;
}

static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(
    const double x, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind) {
  const gi_fp8_format format = gi_fp8_of(kind);
  if (x != x) return format.nan;
  const double size = __builtin_fabs(x), infinity = __builtin_inf();
  const bool saturates = saturate == __NV_SATFINITE;
  const unsigned far = saturates ? format.most : format.beyond;
  const unsigned bits = size == infinity ? far : gi_fp8_narrowed(size, format, saturates);
  return __nv_fp8_storage_t((__builtin_signbit(x) ? 0x80 : 0) | bits);
}
static inline float gi_fp8_widened(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  const gi_fp8_format format = gi_fp8_of(kind);
  const unsigned size = x & 0x7f;
  if (size > format.beyond || size == format.nan) return __builtin_nanf("");
  const float value = size > format.most ? __builtin_inff() : float(gi_fp8_size(size, format));
  return x & 0x80 ? -value : value;
}
static inline __half_raw __nv_cvt_fp8_to_halfraw(
    const __nv_fp8_storage_t x, const __nv_fp8_interpretation_t kind) {
  return __half_raw(__half(gi_fp8_widened(x, kind)));
}
static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(
    const __nv_fp8x2_storage_t x, const __nv_fp8_interpretation_t kind) {
  __half2_raw both;
  both.x = __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(x), kind).x;
  both.y = __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t(x >> 8), kind).x;
  return both;
}

// From other types, one number and two of them.
#define GI_FP8_FROM(name, type, two, type2, value)                                                             \
  static inline __nv_fp8_storage_t __nv_cvt_##name##_to_fp8(                                                   \
      const type x, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind) {                  \
    return __nv_cvt_double_to_fp8(double(value(x)), saturate, kind);                                           \
  }                                                                                                            \
  GI_FP8_FROM_TWO(two, type2, __nv_cvt_##name##_to_fp8(gi_fp8_part<type>(x.x), saturate, kind),                \
                  __nv_cvt_##name##_to_fp8(gi_fp8_part<type>(x.y), saturate, kind))
#define GI_FP8_FROM_TWO(two, type2, low, high)                                                                 \
  static inline __nv_fp8x2_storage_t __nv_cvt_##two##_to_fp8x2(                                                \
      const type2 x, const __nv_saturation_t saturate, const __nv_fp8_interpretation_t kind) {                 \
    return __nv_fp8x2_storage_t((high) << 8 | (low));                                                          \
  }
template <class T, class X>
static inline T gi_fp8_part(X x) {
  return x;
}
template <class T>
static inline T gi_fp8_part(unsigned short x) {
  T raw;
  raw.x = x;
  return raw;
}
GI_FP8_FROM_TWO(double2, double2, __nv_cvt_double_to_fp8(x.x, saturate, kind),
                __nv_cvt_double_to_fp8(x.y, saturate, kind))
GI_FP8_FROM(float, float, float2, float2, float)
GI_FP8_FROM(halfraw, __half_raw, halfraw2, __half2_raw, __half)
GI_FP8_FROM(bfloat16raw, __nv_bfloat16_raw, bfloat16raw2, __nv_bfloat162_raw, __nv_bfloat16)
#undef GI_FP8_FROM
#undef GI_FP8_FROM_TWO

template <__nv_fp8_interpretation_t kind>
struct gi_fp8 {
  __nv_fp8_storage_t __x;

  gi_fp8() = default;
  explicit gi_fp8(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, kind)) {}
  explicit gi_fp8(float x) : gi_fp8(double(x)) {}
  explicit gi_fp8(__half x) : gi_fp8(double(float(x))) {}
  explicit gi_fp8(__nv_bfloat16 x) : gi_fp8(double(float(x))) {}
#define GI_FROM(type) \
  explicit gi_fp8(type x) : gi_fp8(double(x)) {}
  GI_EACH_INTEGER(GI_FROM)
#undef GI_FROM
  explicit operator float() const { return gi_fp8_widened(__x, kind); }
  explicit operator double() const { return gi_fp8_widened(__x, kind); }
  explicit operator __half() const { return __half(gi_fp8_widened(__x, kind)); }
  explicit operator __nv_bfloat16() const { return __nv_bfloat16(gi_fp8_widened(__x, kind)); }
  explicit operator bool() const { return (__x & 0x7f) != 0; }
#define GI_INTO(type) \
  explicit operator type() const { return gi_integer<type>(gi_whole(gi_fp8_widened(__x, kind), gi_rz())); }
  GI_EACH_INTEGER(GI_INTO)
#undef GI_INTO
};

template <__nv_fp8_interpretation_t kind>
struct alignas(2) gi_fp8x2 {
  __nv_fp8x2_storage_t __x;

  gi_fp8x2() = default;
  explicit gi_fp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, kind)) {}
  explicit gi_fp8x2(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, kind)) {}
  explicit gi_fp8x2(__half2 x) : gi_fp8x2(make_float2(float(x.x), float(x.y))) {}
  explicit gi_fp8x2(__nv_bfloat162 x) : gi_fp8x2(make_float2(float(x.x), float(x.y))) {}
  explicit operator float2() const {
    return make_float2(gi_fp8_widened(__nv_fp8_storage_t(__x), kind),
                       gi_fp8_widened(__nv_fp8_storage_t(__x >> 8), kind));
  }
  explicit operator __half2() const {
    const float2 both = float2(*this);
    return __half2(__half(both.x), __half(both.y));
  }
};

template <__nv_fp8_interpretation_t kind>
struct alignas(4) gi_fp8x4 {
  __nv_fp8x4_storage_t __x;

  gi_fp8x4() = default;
  explicit gi_fp8x4(float4 x) : gi_fp8x4(gi_fp8x2<kind>(make_float2(x.x, x.y)), gi_fp8x2<kind>(make_float2(x.z, x.w))) {}
  explicit gi_fp8x4(double4 x)
      : gi_fp8x4(gi_fp8x2<kind>(make_double2(x.x, x.y)), gi_fp8x2<kind>(make_double2(x.z, x.w))) {}
  explicit gi_fp8x4(__half2 low, __half2 high) : gi_fp8x4(gi_fp8x2<kind>(low), gi_fp8x2<kind>(high)) {}
  explicit gi_fp8x4(__nv_bfloat162 low, __nv_bfloat162 high) : gi_fp8x4(gi_fp8x2<kind>(low), gi_fp8x2<kind>(high)) {}
  explicit operator float4() const {
    gi_fp8x2<kind> low, high;
    low.__x = __nv_fp8x2_storage_t(__x), high.__x = __nv_fp8x2_storage_t(__x >> 16);
    const float2 first = float2(low), second = float2(high);
    return make_float4(first.x, first.y, second.x, second.y);
  }

 private:
  gi_fp8x4(gi_fp8x2<kind> low, gi_fp8x2<kind> high) : __x(low.__x | unsigned(high.__x) << 16) {}
};

typedef gi_fp8<__NV_E4M3> __nv_fp8_e4m3;
typedef gi_fp8x2<__NV_E4M3> __nv_fp8x2_e4m3;
typedef gi_fp8x4<__NV_E4M3> __nv_fp8x4_e4m3;
typedef gi_fp8<__NV_E5M2> __nv_fp8_e5m2;
typedef gi_fp8x2<__NV_E5M2> __nv_fp8x2_e5m2;
typedef gi_fp8x4<__NV_E5M2> __nv_fp8x4_e5m2;
