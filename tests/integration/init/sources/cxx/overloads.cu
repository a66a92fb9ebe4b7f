// Overloads of what CUDA has.
__device__ inline float4 make_float4(float s)
{
    return make_float4(s, s, s, s);
}
inline __host__ __device__ float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
inline __host__ __device__ float4 operator*(float s, float4 a)
{
    return make_float4(s * a.x, s * a.y, s * a.z, s * a.w);
}
inline __host__ __device__ void operator+=(float4 &a, float4 b)
{
    a = a + b;
}
template <class T> __device__ T max(T a, T b)
{
    return a > b ? a : b;
}
static __device__ float min(float4 a)
{
    return min(min(a.x, a.y), min(a.z, a.w));
}
__global__ void mix(float4 *a, const float4 *b, double low, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 sum = 0.5f * b[i] + make_float4(1.0f);
        sum += b[i];
        sum.x = (float)max(sum.x, low);
        sum.y = max(sum.y, 0.25f) + max(i, 3) + min(b[i]);
        a[i] = sum;
    }
}
