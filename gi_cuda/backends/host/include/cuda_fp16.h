// Stands for CUDA's header of this name in device code.
#pragma once
#include "gi_small_floats.hpp"

typedef gi_small<gi_half_format> __half;
typedef gi_small2<gi_half_format> __half2;
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half nv_half;
typedef __half2 nv_half2;
struct __half_raw {
  unsigned short x;
  __half_raw() = default;
  __half_raw(const __half &value) : x(value.__x) {}
  operator __half() const { return __half::bits(x); }
};
struct __half2_raw {
  unsigned short x, y;
  __half2_raw() = default;
  __half2_raw(const __half2 &value) : x(value.x.__x), y(value.y.__x) {}
  operator __half2() const { return __half2(__half::bits(x), __half::bits(y)); }
};

GI_SMALL_CONVERSIONS(__half, __half2, half)
static inline __half2 make_half2(const __half x, const __half y) { return __half2(x, y); }

#define CUDART_INF_FP16 __ushort_as_half(0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half(0x7FFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001U)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7BFFU)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000U)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half(0x3C00U)
