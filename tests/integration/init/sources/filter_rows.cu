#include <cuda_runtime.h>
#define FILTER_RADIUS 8
#define FILTER_LENGTH (2 * FILTER_RADIUS + 1)
__constant__ float taps[FILTER_LENGTH];
extern "C" void set_filter(float *h_taps) { cudaMemcpyToSymbol(taps, h_taps, FILTER_LENGTH * sizeof(float)); }
extern "C" __global__ void filter_rows(float *d_Dst, float *d_Src, int imageW, int imageH)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= imageW || y >= imageH) return;
    float sum = 0;
    #pragma unroll
    for (int j = -FILTER_RADIUS; j <= FILTER_RADIUS; j++) {
        int xx = min(max(x + j, 0), imageW - 1);
        sum += taps[FILTER_RADIUS - j] * d_Src[y * imageW + xx];
    }
    d_Dst[y * imageW + x] = sum;
}
