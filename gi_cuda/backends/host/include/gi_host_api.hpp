// CUDA's host functions, so that host code beside kernels compiles: timers, error checks, owners of memory in headers.
// Nothing of it is ever run; each function says that it is not supported.
#pragma once

#include <stddef.h>

enum cudaError { cudaSuccess = 0, cudaErrorNotReady = 600, cudaErrorNotSupported = 801, cudaErrorUnknown = 999 };
typedef cudaError cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, memPitch;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, major, minor;
  int multiProcessorCount, maxThreadsPerMultiProcessor, memoryClockRate, memoryBusWidth, l2CacheSize;
};

enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaMemAttachGlobal = 1 };
enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2 };

static inline const char *cudaGetErrorString(cudaError_t) { return "not supported on the host"; }
static inline const char *cudaGetErrorName(cudaError_t) { return "cudaErrorNotSupported"; }

#define GI_HOST_API(name)                         \
  template <class... T>                           \
  static inline cudaError_t name(const T &...) {  \
    return cudaErrorNotSupported;                 \
  }
GI_HOST_API(cudaMalloc) GI_HOST_API(cudaMallocHost) GI_HOST_API(cudaMallocManaged) GI_HOST_API(cudaMallocPitch)
GI_HOST_API(cudaMallocAsync) GI_HOST_API(cudaHostAlloc) GI_HOST_API(cudaHostRegister) GI_HOST_API(cudaHostUnregister)
GI_HOST_API(cudaFree) GI_HOST_API(cudaFreeHost) GI_HOST_API(cudaFreeAsync) GI_HOST_API(cudaMemGetInfo)
GI_HOST_API(cudaMemcpy) GI_HOST_API(cudaMemcpyAsync) GI_HOST_API(cudaMemcpy2D) GI_HOST_API(cudaMemset)
GI_HOST_API(cudaMemsetAsync) GI_HOST_API(cudaMemcpyToSymbol) GI_HOST_API(cudaMemcpyFromSymbol)
GI_HOST_API(cudaMemcpyToSymbolAsync) GI_HOST_API(cudaGetSymbolAddress) GI_HOST_API(cudaMemPrefetchAsync)
GI_HOST_API(cudaGetLastError) GI_HOST_API(cudaPeekAtLastError) GI_HOST_API(cudaThreadSynchronize)
GI_HOST_API(cudaDeviceReset) GI_HOST_API(cudaGetDevice) GI_HOST_API(cudaSetDevice) GI_HOST_API(cudaGetDeviceCount)
GI_HOST_API(cudaGetDeviceProperties) GI_HOST_API(cudaDeviceGetAttribute) GI_HOST_API(cudaDeviceSetCacheConfig)
GI_HOST_API(cudaFuncSetCacheConfig) GI_HOST_API(cudaFuncSetAttribute) GI_HOST_API(cudaStreamCreate)
GI_HOST_API(cudaStreamCreateWithFlags) GI_HOST_API(cudaStreamDestroy) GI_HOST_API(cudaStreamSynchronize)
GI_HOST_API(cudaStreamWaitEvent) GI_HOST_API(cudaEventCreate) GI_HOST_API(cudaEventCreateWithFlags)
GI_HOST_API(cudaEventDestroy) GI_HOST_API(cudaEventRecord) GI_HOST_API(cudaEventSynchronize)
GI_HOST_API(cudaEventElapsedTime) GI_HOST_API(cudaEventQuery) GI_HOST_API(cudaLaunchKernel)
GI_HOST_API(cudaOccupancyMaxPotentialBlockSize) GI_HOST_API(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
#undef GI_HOST_API

// Device code may call this one, where kernels launch kernels.
static inline cudaError_t cudaDeviceSynchronize() { return cudaErrorNotSupported; }
