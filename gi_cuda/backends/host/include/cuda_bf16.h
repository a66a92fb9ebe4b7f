// Stands for CUDA's header of this name in device code.
#pragma once
#include "gi_small_floats.hpp"

typedef gi_small<gi_bfloat_format> __nv_bfloat16;
typedef gi_small2<gi_bfloat_format> __nv_bfloat162;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
struct __nv_bfloat16_raw {
  unsigned short x;
  __nv_bfloat16_raw() = default;
  __nv_bfloat16_raw(const __nv_bfloat16 &value) : x(value.__x) {}
  operator __nv_bfloat16() const { return __nv_bfloat16::bits(x); }
};
struct __nv_bfloat162_raw {
  unsigned short x, y;
  __nv_bfloat162_raw() = default;
  __nv_bfloat162_raw(const __nv_bfloat162 &value) : x(value.x.__x), y(value.y.__x) {}
  operator __nv_bfloat162() const { return __nv_bfloat162(__nv_bfloat16::bits(x), __nv_bfloat16::bits(y)); }
};

GI_SMALL_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
static inline __nv_bfloat162 make_bfloat162(const __nv_bfloat16 x, const __nv_bfloat16 y) {
  return __nv_bfloat162(x, y);
}

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7FFFU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001U)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7F7FU)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3F80U)
