#pragma once
#include <cstdio>
namespace grid {
class Index {
public:
    __device__ Index(int n) : limit(n) {}
    __device__ int at() const { return blockIdx.x * blockDim.x + threadIdx.x; }
    __device__ bool inside() const;
    static __device__ float half(float x) { return 0.5f * x; }
    void show() const;

private:
    int limit;
};
__device__ float twice(float x);
__global__ void change(float *a, float *b, int n);
}
