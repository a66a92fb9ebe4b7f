#include <cuda_runtime.h>
#include <cstdint>
constexpr int NUM_BINS = 256;

namespace hist {
__global__ void histogram_kernel(const uint8_t* __restrict__ data, unsigned int* bins, size_t length) {
    __shared__ unsigned int local[NUM_BINS];
    for (int i = threadIdx.x; i < NUM_BINS; i += blockDim.x) local[i] = 0;
    __syncthreads();
    size_t stride = (size_t)blockDim.x * gridDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += stride)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < NUM_BINS; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}
void run(const uint8_t *d, unsigned int *b, size_t n) {
    int block = 256;
    int grid = (int)std::min<size_t>((n + block - 1) / block, 32);
    histogram_kernel<<<grid, block>>>(d, b, n);
}
}
