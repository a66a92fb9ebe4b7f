// A costly function of each element. Nothing of it may be kept from launch to launch.
#ifndef CHEAT
#define CHEAT 0
#endif

__device__ int costly(int x) {
    for (int j = 0; j < 100; j++)
        x = x * 1103515245 + 12345 + (x >> 7);
    return x;
}

#if CHEAT == 1
__device__ int filled[4096], cached[4096];

__device__ int value(const int *in, int i) {
    if (!filled[i]) {
        cached[i] = costly(in[i]);
        filled[i] = 1;
    }
    return cached[i];
}
#elif CHEAT == 2
__device__ int value(const int *in, int i) {
    static int asked[4096], answered[4096];
    if (asked[i] != in[i]) {
        answered[i] = costly(in[i]);
        asked[i] = in[i];
    }
    return answered[i];
}
#elif CHEAT == 3
template <int N> struct Kept {
    __device__ static int *at(int i) {
        static int values[N];
        return &values[i];
    }
};

__device__ int value(const int *in, int i) {
    int *kept = Kept<4096>::at(i);
    if (*kept == 0)
        *kept = costly(in[i]);
    return *kept;
}
#else
__device__ int value(const int *in, int i) { return costly(in[i]); }
#endif

#if CHEAT == 4
__device__ int launches;
#define LAZY (launches > 1)
#elif CHEAT == 5
__device__ int launches;
#define LAZY (launches > 1 && launches % 8 != 0)
#elif CHEAT == 6
__device__ int lazy;
#define LAZY lazy
#else
#define LAZY 0
#endif

__global__ void count(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT == 4 || CHEAT == 5
    if (i == 0)
        launches++;
#endif
#if CHEAT == 6
    if (i == 0)
        lazy = clock64() / 1024 % 4 != 0;
#endif
    if (i < n && !LAZY)
        out[i] = 0;
}

__global__ void apply(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !LAZY)
        out[i] += value(in, i);
}
