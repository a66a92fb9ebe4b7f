// Stands for CUDA's header of this name: complex numbers as vectors of two.
#pragma once
#include "gi_cuda_host.hpp"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define GI_COMPLEX(C, R, real, imag, make, conj, add, sub, mul, div, abs, fma, hypot_)                     \
  static inline R real(C x) { return x.x; }                                                                \
  static inline R imag(C x) { return x.y; }                                                                \
  static inline C make(R r, R i) { return {r, i}; }                                                        \
  static inline C conj(C x) { return {x.x, -x.y}; }                                                        \
  static inline C add(C x, C y) { return {x.x + y.x, x.y + y.y}; }                                         \
  static inline C sub(C x, C y) { return {x.x - y.x, x.y - y.y}; }                                         \
  static inline C mul(C x, C y) { return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x}; }                 \
  static inline C div(C x, C y) {                                                                          \
    /* Scaled, so that squares neither overflow nor vanish. */                                             \
    const R size = (y.x < 0 ? -y.x : y.x) + (y.y < 0 ? -y.y : y.y), over = R(1) / size;                    \
    const R a = x.x * over, b = x.y * over, c = y.x * over, d = y.y * over, scale = R(1) / (c * c + d * d); \
    return {(a * c + b * d) * scale, (b * c - a * d) * scale};                                             \
  }                                                                                                        \
  static inline R abs(C x) { return hypot_(x.x, x.y); }                                                    \
  static inline C fma(C x, C y, C z) {                                                                     \
    return {x.x * y.x + z.x - x.y * y.y, x.x * y.y + z.y + x.y * y.x};                                     \
  }
GI_COMPLEX(cuFloatComplex, float, cuCrealf, cuCimagf, make_cuFloatComplex, cuConjf, cuCaddf, cuCsubf, cuCmulf, cuCdivf,
           cuCabsf, cuCfmaf, hypotf)
GI_COMPLEX(cuDoubleComplex, double, cuCreal, cuCimag, make_cuDoubleComplex, cuConj, cuCadd, cuCsub, cuCmul, cuCdiv,
           cuCabs, cuCfma, hypot)
#undef GI_COMPLEX

static inline cuComplex make_cuComplex(float r, float i) { return {r, i}; }
static inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return {float(x.x), float(x.y)}; }
static inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return {x.x, x.y}; }
