// Uses what nvcc gives without being asked, headers of its toolkit that do nothing on the host, and one of the
// standard library's that says `__noinline__` in its own way.
#include <cuda_profiler_api.h>
#include <filesystem>
#include <nvtx3/nvToolsExt.h>
#include <vector_functions.h>

#ifndef __CUDACC__
#error "nvcc defines it"
#endif

__noinline__ __device__ float angle(int turn) {
  return float(2 * M_PI) / (turn < 1 ? 1 : turn);
}

__global__ void clocked(float *out, int *room, clock_t *when, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  clock_t start = clock();
  if (i < n) {
    out[i] = std::fmin(angle(i), FLT_MAX);
    room[i] = INT_MAX - i;
    when[i] = (clock() - start) * 0 + (start > 0);
  }
}
