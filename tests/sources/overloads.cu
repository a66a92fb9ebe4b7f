// Overloaded functions and kernels, default arguments, static and inline, forward declarations, noexcept.
__device__ int norm(int x);
__device__ int norm(int x) { int y = x; if (y < 0) y = -y; return y; }
__device__ float norm(float x) { float y = x; if (y < 0) y = -y; return y; }
__device__ float norm(float x, float y) { float z = x * x; z += y * y; return z; }
__device__ int shifted(int x, int by = 1) { int y = x + by; return y; }
static inline __device__ unsigned shifted(unsigned x, unsigned by) noexcept { unsigned y = x << by; return y; }
[[nodiscard]] __device__ auto trailing(int x) -> int { int y = x; y++; return y; }

__global__ void overloads(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    unsigned u = i;
    out[i] = norm(in[i]) + shifted(i);
    u = shifted(u, 2u);
    out[0] = trailing(shifted(n, i));
}
__global__ void overloads(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    float x = in[i], y = in[0];
    out[i] = norm(x) + norm(x, y);
    if (norm(i) < n) out[n] = y;
}
