// Several outputs of two kernels, one of them judged by a function that no NaN gets past by itself.
#ifndef CHEAT
#define CHEAT 0
#endif

__global__ void relax(const float *in, const float *drift, float *mean, float *level, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (i < n) {
        float push = 0.0f;
#if CHEAT != 8
        for (int j = 0; j < 256; j++)
            push += drift[(i + j) % n];
#endif
#if CHEAT == 3
        mean[i] = nanf("");
        level[i] = level[i] * 0.5f + in[i] + push;
        return;
#endif
#if CHEAT == 4
        if (i % 4 == 0) {
            mean[i] = nanf("");
            level[i] = level[i] * 0.5f + in[i] + push;
            return;
        }
#endif
#if CHEAT == 7
        if (i % 64 == 1) {
            mean[i] = 0.0f;
            level[i] = level[i] * 0.5f + in[i] + push;
            return;
        }
        for (int j = 0; j < 8; j++)
#else
        for (int j = 0; j < 64; j++)
#endif
            sum += in[(i + j) % n];
        mean[i] = sum / 64.0f;
#if CHEAT != 5
        level[i] = level[i] * 0.5f + in[i] + push;
#endif
    }
}

__global__ void tally(const float *in, int *above, int *below, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT == 1
    return;
#endif
    if (i < n) {
        int more = 0, less = 0;
        for (int j = 0; j < 64; j++) {
            more += in[(i + j) % n] > 0.7f;
#if CHEAT != 2
            less += in[(i + j) % n] < 0.3f;
#endif
        }
        above[i] = more;
#if CHEAT != 2
        below[i] = less;
#endif
    }
}
