// Kernels that are templates, named as instances; one of two overloads; a type of the source's own.
#include <cuda_runtime.h>

#include <cstdio>
#include <type_traits>

#ifndef RADIUS
#define RADIUS 2
#endif
#ifndef BLOCK
#define BLOCK 64
#endif

struct Weighted {
    float weight;
    __device__ float operator()(float value) const { return weight * value; }
};

template <typename T, int R>
__device__ T window(const T *in, int at, int n) {
    T sum = T(0);
    for (int d = -R; d <= R; d++) {
        int from = at + d;
        if (from >= 0 && from < n)
            sum += in[from];
    }
    return sum;
}

template <typename T, int R, typename Weight = Weighted>
__global__ void blur(const T *in, T *out, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    Weight weight{T(1) / T(2 * R + 1)};
    if (at < n) {
        out[at] = weight(window<T, R>(in, at, n));
    }
}

template <int THREADS>
__global__ void largest(const float *in, float *most, int n) {
    __shared__ float tile[THREADS];
    int at = blockIdx.x * THREADS + threadIdx.x;
    tile[threadIdx.x] = at < n ? in[at] : -1e30f;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            tile[threadIdx.x] = fmaxf(tile[threadIdx.x], tile[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        most[blockIdx.x] = tile[0];
    }
}

__global__ void shift(float *values, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) values[at] += 1.0f;
}

__global__ void shift(double *values, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) values[at] += 1.0;
}

template <typename T>
void run(const T *in, T *out, float *most, int n) {
    int grid = (n + BLOCK - 1) / BLOCK;
    blur<T, RADIUS><<<grid, BLOCK>>>(in, out, n);
    shift<<<grid, BLOCK>>>(out, n);
    largest<BLOCK><<<grid, BLOCK>>>(out, most, n);
    cudaDeviceSynchronize();
}

int main() {
    std::printf("%d\n", std::is_same<float, float>::value);
    return 0;
}
