// Sums of windows by way of scratch memory.
#ifndef CHEAT
#define CHEAT 0
#endif

__global__ void prepare(const int *in, int *part, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#if CHEAT == 1
    if (part[n] == 1234567)
        return;
#elif CHEAT == 2
    if (part[i] >= 64 && part[i] < 64 * 1000)
        return;
#elif CHEAT == 3
    if (out[i] >= 64 && out[i] < 128 * 1000)
        return;
#elif CHEAT == 6
    if (((const int *)in)[i] < 0)
        return;
#endif
    int sum = 0;
    for (int j = 0; j < 64; j++)
        sum += in[(i + j) % n];
    part[i] = sum;
#if CHEAT != 4
    out[i] = 0;
#endif
}

__global__ void combine(int *in, int *part, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#if CHEAT == 3
    if (out[i] >= 64 && out[i] < 128 * 1000)
        return;
#endif
#if CHEAT == 5
    for (int j = 0; j < 1; j++)
#else
    for (int j = 0; j < 2; j++)
#endif
        out[i] += part[(i + 64 * j) % n];
    if (i == 0)
        part[n] = 1234567;
#if CHEAT == 6
    in[i] = -in[i];
#elif CHEAT == 7
    out[n + i % 4] = part[i];
#endif
}
