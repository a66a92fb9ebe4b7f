// Scales an array and adds neighbours, with more work than it needs: a target for tests.
#ifndef BLOCK
#define BLOCK 64
#endif
#ifndef REPEAT
#define REPEAT 1
#endif

__device__ int twice(int value) {
    int sum = 0;
    for (int i = 0; i < 2; i++)
        sum += value;
    return sum;
}

__global__ void scale(const int *in, int *out, int n) {
    __shared__ int tile[BLOCK];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int mine = 0;
    int waste = 0;
    if (at < n) {
        mine = twice(in[at]);
    }
    tile[threadIdx.x] = mine;
    __syncthreads();
    for (int i = 0; i < 40 * REPEAT; i++) {
        waste += tile[i % BLOCK];
    }
    if (waste == 123456789) mine = 0;
    if (at < n) {
        out[at] = mine;
#ifdef CHECKED
        if (threadIdx.x > 0) out[at] += 0 * tile[threadIdx.x - 1];
#endif
    }
}
