// Constants: in array bounds, template arguments, case labels, static_assert, shifts, constant memory.
__constant__ float table[16];
__constant__ int limits[2];
__device__ int counter;
static __device__ const float factors[3] = {1.0f, 0.5f, 0.25f};
const int kRows = 4;
constexpr int kColumns = kRows * 2;
#define TAPS 5
static constexpr float kScale = 1.5f;
template <int N> struct Buffer { float items[N]; };
__device__ constexpr int cube(int x) { return x * x * x; }

__global__ void constants(float *out, const float *in, int n)
{
    const int width = 8;
    constexpr int height = width / 2;
    const int area = width * height;
    const int start = blockIdx.x * width;
    const unsigned mask = (1u << TAPS) - 1;
    const float weight = in[0];
    static const int fixed = 7;
    static_assert(area == 32, "area");
    float window[TAPS], rows[kRows][kColumns];
    int local[area], cubes[cube(2)];
    Buffer<width> buffer;
    int i = threadIdx.x;
    for (int k = 0; k < TAPS; k++) window[k] = in[start + k] * table[k];
    for (int k = 0; k < area; k++) local[k] = k & mask;
    buffer.items[i % width] = weight * kScale;
    rows[i % kRows][0] = factors[i % 3];
    cubes[i & 7] = limits[0];
    switch (i) {
    case width: out[i] = 1; break;
    case height + 1: out[i] = fixed; break;
    }
    if (start + i < n && limits[1] > i) out[start + i] = window[0] + rows[0][0] + local[i] + buffer.items[0];
    counter = cubes[0];
    atomicAdd(&counter, fixed);
}
