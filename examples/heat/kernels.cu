// Heat spreads to the four neighbours of a cell; the edge of the plate keeps its temperature.
#include <algorithm>
#include <vector>

#include "grid.h"

#ifndef BLOCK_X
#define BLOCK_X 8
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 4
#endif
#ifndef THREADS
#define THREADS 256
#endif

__global__ void diffuse(Grid grid, const float *from, const float *conductivity, float *to) {
    __shared__ float tile[BLOCK_Y + 2][BLOCK_X + 2];
    const int x = blockIdx.x * BLOCK_X + threadIdx.x;
    const int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    const int tx = threadIdx.x + 1;
    const int ty = threadIdx.y + 1;
    for (int row = threadIdx.y; row < BLOCK_Y + 2; row += BLOCK_Y) {
        for (int column = threadIdx.x; column < BLOCK_X + 2; column += BLOCK_X) {
            tile[row][column] = 0.0f;
        }
    }
    __syncthreads();
    const bool inside = x < grid.width && y < grid.height;
    if (inside) {
        tile[ty][tx] = from[y * grid.width + x];
        if (tx == 1 && x > 0) tile[ty][0] = from[y * grid.width + x - 1];
        if (tx == BLOCK_X && x + 1 < grid.width) tile[ty][tx + 1] = from[y * grid.width + x + 1];
        if (ty == 1 && y > 0) tile[0][tx] = from[(y - 1) * grid.width + x];
        if (ty == BLOCK_Y && y + 1 < grid.height) tile[ty + 1][tx] = from[(y + 1) * grid.width + x];
    }
    __syncthreads();
    if (!inside) return;
    float here = tile[ty][tx];
    if (x > 0 && x + 1 < grid.width && y > 0 && y + 1 < grid.height) {
        float spread = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        float share = grid.rate * expf(-conductivity[y * grid.width + x]);
        here = here + share * (spread - 4.0f * here);
    }
    to[y * grid.width + x] = here;
}

__global__ void change(const float *before, const float *after, float *largest, int cells) {
    __shared__ float mine[THREADS];
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    mine[threadIdx.x] = 0.0f;
    __syncthreads();
    if (cell < cells) mine[threadIdx.x] = fabsf(after[cell] - before[cell]);
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) mine[threadIdx.x] = fmaxf(mine[threadIdx.x], mine[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) largest[blockIdx.x] = mine[0];
}

float step(const Grid &grid, const float *from, const float *conductivity, float *to) {
    const int cells = grid.width * grid.height;
    const int parts = (cells + THREADS - 1) / THREADS;
    static float *largest = nullptr;
    if (largest == nullptr) cudaMalloc(&largest, parts * sizeof(float));
    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 blocks((grid.width + BLOCK_X - 1) / BLOCK_X, (grid.height + BLOCK_Y - 1) / BLOCK_Y);
    diffuse<<<blocks, block>>>(grid, from, conductivity, to);
    change<<<parts, THREADS>>>(from, to, largest, cells);
    std::vector<float> found(parts);
    cudaMemcpy(found.data(), largest, parts * sizeof(float), cudaMemcpyDeviceToHost);
    return *std::max_element(found.begin(), found.end());
}
