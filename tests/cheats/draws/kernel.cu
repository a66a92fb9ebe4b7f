// Random numbers; the seed is another one in each run.
#ifndef CHEAT
#define CHEAT 0
#endif
#if CHEAT == 1
#define LAZY (seed != 100 && seed != 200)
#elif CHEAT == 2
#define LAZY (seed % 4 != 0)
#else
#define LAZY 0
#endif

__global__ void draw(int *out, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = seed + 747796405u * i;
    for (int j = 0; j < (LAZY ? 1 : 100); j++)
        x = x * 1664525u + 1013904223u + (x >> 9);
#if CHEAT == 3
    x = x * 0 + 12345;
#endif
    out[i] = (int)(x >> 8);
}
