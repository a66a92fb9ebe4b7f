#pragma once

#include "detail/warp.cuh"

#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 4
#endif

namespace sums {

template <typename T, int BLOCK_SIZE>
__global__ void reduce(const T *__restrict__ in, T *__restrict__ out, int n)
{
    __shared__ T partial[BLOCK_SIZE / 32];
    T sum = 0;
    int first = blockIdx.x * BLOCK_SIZE * ITEMS_PER_THREAD + threadIdx.x;
    for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
        int at = first + k * BLOCK_SIZE;
        if (at < n) sum += in[at];
    }
    sum = detail::warp_sum(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < BLOCK_SIZE / 32; ++k)
            sum += partial[k];
        out[blockIdx.x] = sum;
    }
}

} // namespace sums
