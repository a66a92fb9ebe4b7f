// Stands for CUDA's header of this name, so that host code beside kernels compiles. Nothing of it is ever run.
#pragma once
#include "gi_cuda_host.hpp"

struct cudaGraphicsResource;
typedef cudaGraphicsResource *cudaGraphicsResource_t;
enum {
  cudaGraphicsRegisterFlagsNone,
  cudaGraphicsRegisterFlagsReadOnly,
  cudaGraphicsRegisterFlagsWriteDiscard,
  cudaGraphicsMapFlagsNone = 0,
  cudaGraphicsMapFlagsReadOnly = 1,
  cudaGraphicsMapFlagsWriteDiscard = 2
};

#define GI_GRAPHICS(name)                        \
  template <class... T>                          \
  static inline cudaError_t name(const T &...) { \
    return cudaErrorNotSupported;                \
  }
GI_GRAPHICS(cudaGraphicsGLRegisterBuffer) GI_GRAPHICS(cudaGraphicsGLRegisterImage)
GI_GRAPHICS(cudaGraphicsUnregisterResource) GI_GRAPHICS(cudaGraphicsMapResources)
GI_GRAPHICS(cudaGraphicsUnmapResources) GI_GRAPHICS(cudaGraphicsResourceGetMappedPointer)
GI_GRAPHICS(cudaGraphicsSubResourceGetMappedArray) GI_GRAPHICS(cudaGLGetDevices)
#undef GI_GRAPHICS
