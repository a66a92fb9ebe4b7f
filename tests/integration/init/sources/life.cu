/* Game of life on a torus. */
#include <stdio.h>
#define W 128
#define H 128
__device__ int alive(const unsigned char *world, int x, int y) { return world[((y + H) % H) * W + (x + W) % W]; }
__global__ void step(const unsigned char *world, unsigned char *next)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= W || y >= H) return;
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx || dy) n += alive(world, x + dx, y + dy);
    next[y * W + x] = n == 3 || (n == 2 && world[y * W + x]);
}
int main() { step<<<dim3(W / 16, H / 16), dim3(16, 16)>>>(NULL, NULL); }
