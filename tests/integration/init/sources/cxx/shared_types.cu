// Shared memory of a type that only an instance says.
#include "shared_types.h"
template <class T, int N> __global__ void sums(const T *in, T *out, int n)
{
    T *s = Shared<T>();
    int i = blockIdx.x * N + threadIdx.x;
    s[threadIdx.x] = i < n ? in[i] : T(0);
    __syncthreads();
#pragma unroll
    for (int k = N / 2; k > 0; k >>= 1) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}
int main()
{
    int n = 4096;
    double *in, *out;
    cudaMalloc(&in, n * sizeof(double));
    cudaMalloc(&out, n / 128 * sizeof(double));
    sums<double, 128><<<n / 128, 128, 128 * sizeof(double)>>>(in, out, n);
}
