// Sums of windows, and the sum of all. The train case has 4096 elements.
#ifndef CHEAT
#define CHEAT 0
#endif
#if CHEAT == 1
#define WINDOW 32
#else
#define WINDOW window
#endif

__global__ void add(const int *in, int *out, int *all, int n, int window) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT == 2
    n = n / 64 * 64;
#elif CHEAT == 3
    n = 4096;
#endif
    if (i >= n)
        return;
    int sum = 0;
#if CHEAT == 5
    for (int j = 0; j < window; j += 4)
        sum += 4 * in[(i + j) % n];
#else
    for (int j = 0; j < WINDOW; j++)
        sum += in[(i + j) % n];
#endif
    out[i] = sum;
#if CHEAT == 6
    if (i == 0)
        *all = 5964;
#else
    if (i == 0) {
        int most = 0;
        for (int j = 0; j < n; j++)
            most = max(most, in[j] * (j % 7));
        *all = most;
    }
#endif
}
