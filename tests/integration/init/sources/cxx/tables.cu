// Tables, lambdas, alignment.
#include <cmath>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
static __device__ const float weights[4] = {0.1f, 0.2f, 0.3f, 0.4f};
__device__ constexpr int offsets[4] = {0, 1, 2, 3};
__host__ __device__ constexpr int width(int k)
{
    return k * 2;
}
inline float slow(float x)
{
    return std::pow(x, 3.0f);
}
__host__ __device__ inline float cube(float x)
{
#ifdef __CUDA_ARCH__
    return x * x * x;
#else
    return slow(x);
#endif
}
template <typename T> struct Times {
    T factor;
    Times(T f, T g) : factor(slow(f) + g) {}
    __host__ __device__ explicit Times(T f) : factor(f) {}
    __host__ __device__ T operator()(T x) const { return x * factor; }
};
static __device__ __forceinline__ float weighted(const float *__restrict__ in, int i, int n)
{
    float s = 0.0f;
#pragma unroll 4
    for (int k = 0; k < 4; k++)
        s += weights[k] * in[(i + offsets[k]) % n];
    return s;
}
__global__ void blur(const float *__restrict__ in, float *__restrict__ out, int n)
{
    __shared__ __align__(16) float tile[width(128)];
    __align__(16) unsigned parts[4];
    *reinterpret_cast<uint4 *>(parts) = make_uint4(1u, 2u, 3u, 4u);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto twice = [&](float x) { return 2.0f * x; };
    Times<float> times(0.5f);
    tile[threadIdx.x] = i < n ? weighted(in, i, n) : 0.0f;
    __syncthreads();
    if (i < n)
        out[i] = twice(cube(times(tile[threadIdx.x]))) + parts[i & 3];
}
void run(float *in, float *out, int n)
{
    thrust::device_vector<float> v(n);
    thrust::sort(v.begin(), v.end());
    blur<<<(n + 127) / 128, 128>>>(in, out, n);
}
