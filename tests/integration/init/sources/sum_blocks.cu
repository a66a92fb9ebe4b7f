#include "helpers/common.h"
#include <vector>

template <typename T, unsigned int blockSize>
__device__ void warpReduce(volatile T *partial, unsigned int tid) {
    if (blockSize >= 64) partial[tid] += partial[tid + 32];
}

template <typename T, unsigned int blockSize>
__global__ void sum_blocks(T *values, T *sums, unsigned int n)
{
    extern __shared__ T partial[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    unsigned int gridSize = blockSize * 2 * gridDim.x;
    T mySum = 0;
    while (i < n) {
        mySum += values[i];
        if (i + blockSize < n) mySum += values[i + blockSize];
        i += gridSize;
    }
    partial[tid] = mySum;
    __syncthreads();
#pragma unroll
    for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
        if (tid < s) partial[tid] += partial[tid + s];
        __syncthreads();
    }
    if (tid == 0) sums[blockIdx.x] = partial[0];
}

static void launch(int n, float *d_in, float *d_out, cudaStream_t stream)
{
    const int threads = 256;
    int blocks = std::min(64, divUp(n, threads * 2));
    sum_blocks<float, threads><<<blocks, threads, threads * sizeof(float), stream>>>(d_in, d_out, n);
    CUDA_CHECK(cudaGetLastError());
}
