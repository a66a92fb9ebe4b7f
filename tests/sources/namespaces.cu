// Namespaces: nested, unnamed, aliased, functions of one name in two of them, a kernel in one.
namespace fast { __device__ float half_of(float x) { x *= 0.5f; return x; } constexpr float unit = 1.0f; }
namespace exact {
__device__ float half_of(float x) { float y = x / 2.0f; return y; }
namespace deep { __device__ int depth = 3; struct Point { float x, y; }; }
}
namespace { __device__ float hidden(float x) { float y = x + 1.0f; y -= 2.0f; return y; } }
namespace way = exact::deep;

namespace app {
__device__ float local(float x) { float z = x; z += fast::unit; return z; }
__global__ void namespaces(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    way::Point point;
    point.x = in[i];
    point.y = fast::half_of(point.x);
    out[i] = exact::half_of(point.y);
    if (i < exact::deep::depth) out[i] = hidden(point.x);
    out[i] += local(point.y) + app::local(point.x);
    {
        using exact::half_of;
        float last = half_of(out[i]);
        out[n] = last;
    }
}
}
