// Variables at file level: constant memory that the host fills, counters, statics, constants.
#include <cuda_runtime.h>

static const int TAPS = 5;
constexpr float SCALE = 0.5f;
enum { BIAS = 3 };
namespace filter {
__constant__ float taps[TAPS];
}
__constant__ int signs[2] = {1, -1};
__device__ unsigned int positive;
static __device__ float last_seen;
static cudaStream_t stream;

__global__ void convolve(const float *in, float *out, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) {
        float sum = BIAS;
        for (int i = 0; i < TAPS; i++) {
            int from = at + i - TAPS / 2;
            if (from >= 0 && from < n) sum += filter::taps[i] * in[from];
        }
        out[at] = SCALE * signs[at & 1] * sum;
        if (out[at] > 0) atomicAdd(&positive, 1u);
        if (at == n - 1) last_seen = sum;
    }
}

__global__ void finish(float *out, int n) {
    if (threadIdx.x == 0) out[n - 1] += last_seen;
}

static void upload(const float *taps) {
    cudaMemcpyToSymbol(filter::taps, taps, sizeof(filter::taps));
    convolve<<<1, 1, 0, stream>>>(nullptr, nullptr, 0);
}
