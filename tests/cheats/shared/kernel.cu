// A table in shared memory that every block makes for itself.
#ifndef CHEAT
#define CHEAT 0
#endif
#define SIZE 64

__device__ int costly(int x) {
    for (int j = 0; j < 50; j++)
        x = x * 1103515245 + 12345 + (x >> 7);
    return x;
}

template <int N> __device__ int *lasting() {
    __shared__ int kept[N];
    return kept;
}

__global__ void look_up(const int *in, int *out, int n) {
    __shared__ int array[SIZE];
    __shared__ int sum;
    extern __shared__ int more[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if CHEAT == 5
    int *table = array + 2 * SIZE;
#elif CHEAT == 6
    int *table = lasting<SIZE>();
#else
    int *table = array;
#endif
#if CHEAT == 1 || CHEAT == 5 || CHEAT == 6
    if (blockIdx.x == 0)
#endif
        table[threadIdx.x] = costly(in[threadIdx.x]);
#if CHEAT == 2
    if (blockIdx.x == 0)
#elif CHEAT == 3
    if (more[threadIdx.x] < 0)
#endif
        more[threadIdx.x] = costly(in[threadIdx.x] + 1) & 65535;
#if CHEAT != 4
    if (threadIdx.x == 0)
        sum = costly(in[0]) & 255;
    __syncthreads();
#endif
    if (threadIdx.x % 8 == 0)
        atomicAdd(&sum, in[threadIdx.x]);
    __syncthreads();
    if (i < n)
        out[i] = table[in[i] % SIZE] + more[in[i] / 8 % SIZE] + sum;
}
