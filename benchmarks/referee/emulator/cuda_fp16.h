// Half precision for the emulation in cuda_runtime.h: what the corpus uses of it.
#pragma once

#include "cuda_runtime.h"

struct __half { _Float16 bits; };
struct alignas(4) __half2 { __half x, y; };
inline __half __float2half(float x) { return {(_Float16)x}; }
inline float __half2float(__half x) { return (float)x.bits; }
inline __half __hmul(__half a, __half b) { return {(_Float16)((float)a.bits * (float)b.bits)}; }
inline __half __hadd(__half a, __half b) { return {(_Float16)((float)a.bits + (float)b.bits)}; }
inline __half __hsub(__half a, __half b) { return {(_Float16)((float)a.bits - (float)b.bits)}; }
inline bool __hlt(__half a, __half b) { return a.bits < b.bits; }
inline bool __hgt(__half a, __half b) { return a.bits > b.bits; }
inline bool __heq(__half a, __half b) { return a.bits == b.bits; }
inline __half __hmax(__half a, __half b) { return {(_Float16)fmaxf(a.bits, b.bits)}; }
inline __half __hmin(__half a, __half b) { return {(_Float16)fminf(a.bits, b.bits)}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 a) { return a.x; }
inline __half __high2half(__half2 a) { return a.y; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
inline __half2 __hadd2(__half2 a, __half2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
