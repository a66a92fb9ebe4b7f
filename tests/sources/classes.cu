// C++ in device code: namespaces, members, using, range for, if with initialiser, constexpr, attributes.
#include <cstdio>

namespace outer { namespace inner {
constexpr int kSize = 8;
struct Vec { float x, y; __device__ Vec operator+(const Vec &o) const { return {x + o.x, y + o.y}; } };
__device__ float dot(const Vec &a, const Vec &b) { float r = a.x * b.x; r += a.y * b.y; return r; }
} }
using outer::inner::Vec;
using namespace outer;

__device__ Vec pairwise(float a, float b) { Vec v{a, b}; v.x += 1.f; v.y -= 1.f; return v; }

template <class F>
__device__ void each(int n, F f) { for (int i = 0; i < n; ++i) { f(i); } }

template <int Level> __device__ float nested(float v)
{
    if constexpr (Level > 0) {
        v = nested<Level - 1>(v);
        v += Level;
    } else {
        v *= 2.f;
    }
    return v;
}

extern "C" {
__device__ float c_linkage(float a) { float b = a; b += 1.f; return b; }
}

__global__ void modern(float *__restrict__ out, float *in, int n)
{
    float local[inner::kSize] = {};
    Vec total{0.f, 0.f}, one{1.f, 1.f};
    int i = threadIdx.x;
    for (float &slot : local) slot = 1.f;
    for (float slot : local) { total.x += slot; out[i] += slot; }
    if (int k = i & 7; k > 3) {
        local[k] = in[i];
        total = total + one;
    }
    if (float w = in[i]) out[i] = w;
    auto [x, y] = pairwise(in[0], in[1]);
    x += y;
    out[0] = x;
    each(n, [&](int at) {
        out[at] = in[at] * 2.f;
        if (at > 3) { total.y += 1.f; }
    });
    auto add = [out, n](int at, float by) { if (at < n) out[at] += by; };
    add(i, total.x);
    struct Local { int a, b; } pair;
    pair.a = 1; pair.b = i;
    enum { LOW, HIGH = 3 };
    using real = float;
    real z = real(2);
    z = nested<2>(z);
    out[HIGH] = z + pair.a + LOW;
    [[maybe_unused]] int unused = 3;
    const float limit = inner::dot(total, one);
    float &target = out[2];
    target = limit;
    target += c_linkage(limit);
    static const char *name = R"x(not { a } // comment
#if 0
)x";
    if (name[0] == '{') { out[3] = '"'; } else { out[3] = '\''; }
    do {
        z -= 1.f;
        if (z < 0) continue;
        out[4] += z;
    } while (z > 0);
    int *counts = new int[3];
    counts[0] = 1;
    delete[] counts;
    printf("%f %d\n", z, i);
}
