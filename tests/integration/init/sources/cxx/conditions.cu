/* what was before:
#ifdef OLD
#include "never_there.h"
__global__ void conv(double *in) {
#else
*/
#ifndef LOCAL
#define LOCAL 0
#endif
#ifdef __cplusplus
extern "C" {
#endif
#if LOCAL == 0
__global__ void conv(const float *const __restrict__ in, float *const __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2.0f * in[i];
}
#endif
#if LOCAL == 1
__global__ void conv(const float *const __restrict__ in, float *const __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] + in[i];
}
#endif
#ifdef __cplusplus
}
#endif
