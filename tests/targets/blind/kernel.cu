// Two kernels, of which the oracle sees little: a target for tests.
struct Settings {
    float gain;
    int shift;
};

__global__ void first(const float *in, float *out, float *loose, int *half, float *nothing,
                      int *left, const Settings *settings, const float *weak, int n, int mode) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] * settings->gain + settings->shift;
        loose[i] = 0.5f + weak[i] * 1e-6f;
        half[i] = i;
        nothing[i] = sqrtf(i == 3 ? -1.0f : 0.0f) * 0.0f;
        left[i] = i;
        if (mode > 5) {
            out[i] = 7.0f;
            left[i] = 3;
        } else
            out[i] += 1.0f;
    }
}

__global__ void second(const float *in, const int *left, int *unseen, int *skewed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * blockDim.x) {
        unseen[i] = left[i];
        skewed[i] = in[i] > 0.5f;
    }
}
