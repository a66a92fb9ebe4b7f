// Histogram: private copies, strided loops, packed counters, one helper with many exits.
#define BINS 64
#define COPIES 4
__device__ __forceinline__ int bin_of(float value, float low, float step)
{
    int bin = (int)((value - low) / step);
    if (bin < 0) bin = 0;
    else if (bin >= BINS) bin = BINS - 1;
    return bin;
}

extern "C" __global__ void histogram(unsigned *bins, const float *values, int n, float low, float high)
{
    __shared__ unsigned counts[COPIES][BINS];
    const float step = (high - low) / BINS;
    int copy = threadIdx.x % COPIES;
    for (int k = threadIdx.x; k < COPIES * BINS; k += blockDim.x)
        counts[k / BINS][k % BINS] = 0;
    __syncthreads();
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float value = values[i];
        if (value != value) continue;
        atomicAdd(&counts[copy][bin_of(value, low, step)], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < BINS; k += blockDim.x) {
        unsigned total = 0;
#pragma unroll
        for (int c = 0; c < COPIES; c++) total += counts[c][k];
        if (total > 0) atomicAdd(bins + k, total);
    }
}
