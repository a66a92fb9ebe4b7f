#include <cstdio>
#include <cuda_runtime.h>

#define BINS 256

// Adds to counts[b] the number of bytes whose upper bits, byte / 2^shift, are b.
// Domain: n >= 1, 0 <= shift <= 7; counts holds 256 numbers, which are added to.
__global__ void bytehist(const unsigned char *data, unsigned int *counts, int n, int shift)
{
    __shared__ unsigned int mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        unsigned int value = data[i];
        atomicAdd(&mine[value / (1u << shift)], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b] > 0)
            atomicAdd(&counts[b], mine[b]);
}

void run_bytehist(const unsigned char *data, unsigned int *counts, int n, int shift)
{
    bytehist<<<96, 128>>>(data, counts, n, shift);
}

int main()
{
    int n = 3000000;
    unsigned char *data;
    unsigned int *counts;
    cudaMalloc(&data, n);
    cudaMalloc(&counts, BINS * sizeof(unsigned int));
    cudaMemset(counts, 0, BINS * sizeof(unsigned int));
    run_bytehist(data, counts, n, 2);
    cudaDeviceSynchronize();
    cudaFree(data);
    cudaFree(counts);
    return 0;
}
