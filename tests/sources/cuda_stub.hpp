// Just enough of CUDA's words for a host compiler to check the test sources' syntax and types.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __forceinline__ inline
#define __inline__ inline
#define __launch_bounds__(...)
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
int __popc(unsigned);
struct dim3 { unsigned x, y, z; };
extern const dim3 threadIdx, blockIdx, blockDim, gridDim;
extern const int warpSize;
void __syncthreads();
void __syncwarp(unsigned mask = 0xffffffffu);
unsigned __activemask();
template <class T> T __shfl_down_sync(unsigned, T, int, int = 32);
template <class T> T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> T __shfl_up_sync(unsigned, T, int, int = 32);
template <class T> T __ldg(const T *);
template <class T, class U> T atomicAdd(T *, U);
template <class T, class U> T atomicMax(T *, U);
template <class T, class U> T atomicExch(T *, U);
template <class T, class U, class V> T atomicCAS(T *, U, V);
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
