// Goes over each row twice, and computes the same each time: a target for tests of fusion.
#ifndef BLOCK
#define BLOCK 64
#endif

__device__ unsigned mixed(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

__global__ void passes(const unsigned *in, unsigned *sums, unsigned *most, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const unsigned *own = in + row * n;
    unsigned sum = 0;
    unsigned top = 0;
    for (int i = 0; i < n; i++) {
        unsigned value = mixed(own[i]);
        sum += value >> 8;
    }
    // Then its largest.
    for (int j = 0; j < n; j++) {
        unsigned other = mixed(own[j]);
        if (other > top) {
            top = other;
        }
    }
    sums[row] = sum;
    most[row] = top;
}
