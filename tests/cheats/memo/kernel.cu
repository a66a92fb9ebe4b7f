// A table that one kernel makes and another uses; whether it is there is remembered on the device.
#ifndef CHEAT
#define CHEAT 0
#endif

__device__ int ready;
__device__ int table[4096];

__global__ void build(const int *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    if (i < n) {
#if CHEAT != 1
        if (i == 0)
            ready = 0;
#endif
        if (ready == 0) {
            for (int j = 0; j < 64; j++)
                sum += in[(i + j) % n] * (j + 1);
            table[i] = sum;
        }
    }
}

__global__ void use(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[n - 1 - i] + in[i];
    if (i == 0)
        ready = 1;
}
