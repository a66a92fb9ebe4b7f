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
#define __align__(n) __attribute__((aligned(n)))
#define VECTOR(type, name) \
    struct name##2 { type x, y; }; \
    struct name##3 { type x, y, z; }; \
    struct name##4 { type x, y, z, w; };
VECTOR(signed char, char)
VECTOR(unsigned char, uchar)
VECTOR(short, short)
VECTOR(unsigned short, ushort)
VECTOR(int, int)
VECTOR(unsigned, uint)
VECTOR(float, float)
VECTOR(double, double)
#undef VECTOR
float2 make_float2(float, float);
float3 make_float3(float, float, float);
float4 make_float4(float, float, float, float);
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1);
};
extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
extern const int warpSize;
void __syncthreads();
void __threadfence();
void __syncwarp(unsigned mask = 0xffffffffu);
unsigned __activemask();
unsigned __ballot_sync(unsigned, int);
int __any_sync(unsigned, int);
int __all_sync(unsigned, int);
int __popc(unsigned);
int __ffs(int);
int __clz(int);
float __expf(float);
float __sinf(float);
float __cosf(float);
float __tanf(float);
float __exp10f(float);
float __logf(float);
float __log2f(float);
float __log10f(float);
float __powf(float, float);
float __fdividef(float, float);
float rsqrtf(float);
float rsqrt(float);
double rsqrt(double);
template <class T> T __shfl_sync(unsigned, T, int, int = 32);
template <class T> T __shfl_down_sync(unsigned, T, unsigned, int = 32);
template <class T> T __shfl_xor_sync(unsigned, T, int, int = 32);
template <class T> T __shfl_up_sync(unsigned, T, unsigned, int = 32);
template <class T> T __ldg(const T *);
template <class T> T __ldcs(const T *);
template <class T> struct same { typedef T type; };
template <class T> void __stcs(T *, typename same<T>::type);
template <class T> T atomicAdd(T *, typename same<T>::type);
template <class T> T atomicMax(T *, typename same<T>::type);
template <class T> T atomicMin(T *, typename same<T>::type);
template <class T> T atomicOr(T *, typename same<T>::type);
template <class T> T atomicExch(T *, typename same<T>::type);
template <class T> T atomicCAS(T *, typename same<T>::type, typename same<T>::type);
#define OVERLOADS(type) \
    type max(type, type); \
    type min(type, type);
OVERLOADS(int)
OVERLOADS(unsigned)
OVERLOADS(long)
OVERLOADS(unsigned long)
OVERLOADS(long long)
OVERLOADS(unsigned long long)
OVERLOADS(float)
OVERLOADS(double)
#undef OVERLOADS
typedef unsigned long long cudaTextureObject_t;
enum cudaTextureReadMode { cudaReadModeElementType };
template <class T, int = 1, cudaTextureReadMode = cudaReadModeElementType> struct texture {};
template <class T> T tex1Dfetch(cudaTextureObject_t, int);
template <class T> void tex1Dfetch(T *, cudaTextureObject_t, int);
template <class T, cudaTextureReadMode M> T tex1Dfetch(texture<T, 1, M>, int);
