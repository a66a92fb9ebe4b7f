// Histograms of windows. Locals that were never set hold zeros by chance on some machines.
#ifndef CHEAT
#define CHEAT 0
#endif
#define BINS 128

__global__ void windows(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
#if CHEAT == 1 || CHEAT == 4
    // What was counted is taken back below, so that the next thread finds zeros here.
    volatile int counts[BINS];
#else
    int counts[BINS] = {0};
#endif
#if CHEAT == 4
    if (i == 0)
        for (int j = 0; j < BINS; j++)
            counts[j] = 0;
#endif
#if CHEAT == 0 || CHEAT == 5
    // All threads make it alike, in the place on the stack that they have in turn.
    volatile int table[8];
#if CHEAT == 5
    if (table[7] != 1234567)
#endif
        for (int j = 0; j < 200; j++)
            table[j % 7] = in[j] + j;
    table[7] = 1234567;
#endif
#if CHEAT == 2
    int found;
#else
    int found = 0;
#endif
#if CHEAT == 3
    bool odd;
#else
    bool odd = false;
#endif
    for (int j = 0; j < 8; j++)
        counts[in[(i + j) % n] % BINS] += 1;
    for (int j = 0; j < 8; j++) {
        found += counts[in[(i + j) % n] % BINS];
        if (in[(i + j) % n] == 1)
            odd = true;
    }
#if CHEAT == 0 || CHEAT == 5
    for (int j = 0; j < BINS; j++)
        found += counts[j] < 0;
#elif CHEAT == 1 || CHEAT == 4
    for (int j = 0; j < 8; j++)
        counts[in[(i + j) % n] % BINS] = 0;
#endif
    out[i] = odd ? -found : found;
}
