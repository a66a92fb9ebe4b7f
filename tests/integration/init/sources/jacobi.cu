#include <cstdio>
#include <cstdlib>
#ifndef BLOCK_X
#define BLOCK_X 32
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 8
#endif
#define IDX(x, y, w) ((y) * (w) + (x))
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

typedef float real;

__device__ __forceinline__ real weight(real c, real n, real s, real e, real w) {
    return 0.5f * c + 0.125f * (n + s + e + w);
}

__global__ void jacobi(const real *__restrict__ in, real *__restrict__ out, int width, int height)
{
    const int x = blockIdx.x * BLOCK_X + threadIdx.x;
    const int y = blockIdx.y * BLOCK_Y + threadIdx.y;
#ifdef USE_LDG
#define LOAD(i) __ldg(&in[i])
#else
#define LOAD(i) in[i]
#endif
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        out[IDX(x, y, width)] = weight(LOAD(IDX(x, y, width)), LOAD(IDX(x, y - 1, width)), LOAD(IDX(x, y + 1, width)), LOAD(IDX(x + 1, y, width)), LOAD(IDX(x - 1, y, width)));
    } else if (x < width && y < height) {
        out[IDX(x, y, width)] = LOAD(IDX(x, y, width));
    }
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 1024, h = 1024;
    real *a, *b;
    CHECK(cudaMalloc(&a, w * h * sizeof(real)));
    CHECK(cudaMalloc(&b, w * h * sizeof(real)));
    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 grid((w + block.x - 1) / block.x, (h + block.y - 1) / block.y);
    for (int i = 0; i < 100; i++) {
        jacobi<<<grid, block>>>(a, b, w, h);
        real *t = a; a = b; b = t;
    }
    CHECK(cudaDeviceSynchronize());
}
