// #if that cuts through statements, conditions, signatures and braces.
// gi-config:
// gi-config: FAST=1
// gi-config: BOUNDS=1 FAST=1
#include <cstdio>
#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define KERNEL __global__ void

__device__ float shade(float a)
{
    return a
#ifdef FAST
        * 0.5f
#else
        / 2.0f
#endif
        ;
}

__global__ void
#ifdef BOUNDS
__launch_bounds__(128)
#endif
cut(float *out, const float *in, int n
#ifdef FAST
    , int extra = 0
#endif
    )
{
    int i = threadIdx.x;
    float value = 0;
#ifdef FAST
    if (i < n) {
#else
    if (i < n && in != nullptr) {
#endif
        value = in[i];
        value += 1.0f;
    }
    value *= 2;
    out[i] = value +
#ifdef FAST
        1.0f;
#else
        2.0f;
#endif
    if (value > 3)
#ifdef FAST
        value = 3;
#else
        value = shade(value);
#endif
    out[i + 1] = value;
}

KERNEL looped(float *out, int n)
{
    KERNEL_LOOP(i, n) {
        out[i] += 1;
        float twice = out[i] * 2;
        if (twice > 10) out[i] = twice;
    }
    out[0] = 1;
    KERNEL_LOOP(j, n) out[j] = 2;
}

__global__ void selected(float *out, int n)
{
    int total = 0;
#if defined(FAST)
    for (int i = 0; i < n; i += 2)
#else
    for (int i = 0; i < n; i++)
#endif
    {
        total += i;
        out[i] = total;
    }
#ifdef FAST
    if (total > 5)
        total = 5;
    else
#endif
    total++;
    out[0] = total;
}

int main() { cut<<<1, 32>>>(nullptr, nullptr, 0); printf("ok\n"); looped<<<1, 1>>>(nullptr, 3); }
