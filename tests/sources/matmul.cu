// Tiled matrix product: template width, two-dimensional blocks, unrolled inner loop, edges.
#ifndef TILE
#define TILE 16
#endif
template <bool CHECKED>
__device__ float element(const float *m, int row, int column, int rows, int columns)
{
    float value = 0.0f;
    if (!CHECKED || (row < rows && column < columns)) value = m[row * columns + column];
    return value;
}

__global__ void __launch_bounds__(TILE * TILE)
matmul(float *__restrict__ c, const float *__restrict__ a, const float *__restrict__ b, int m, int n, int k)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        left[ty][tx] = element<true>(a, row, t * TILE + tx, m, k);
        right[ty][tx] = element<true>(b, t * TILE + ty, column, k, n);
        __syncthreads();
#pragma unroll
        for (int s = 0; s < TILE; ++s)
            sum += left[ty][s] * right[s][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
