// What comes out tells which seed went in.
#ifndef BLOCK
#define BLOCK 64
#endif

__global__ void draw(unsigned char *out, int n, unsigned char seed) {
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n) {
        out[at] = seed;
    }
}

__global__ void add(unsigned char *out, int n) {
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n) {
        out[at] += at;
    }
}
