#include <cstdio>
#include <cuda_runtime.h>

#define TILE 16

// c = alpha * a * b + beta * c; a is m x k, b is k x n, c is m x n, all row-major.
// Domain: m, n, k >= 1; any alpha and beta; all numbers finite.
__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k,
                       float alpha, float beta)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int first = 0; first < k; first += TILE) {
        as[ty][tx] = row < m && first + tx < k ? a[row * k + first + tx] : 0.0f;
        bs[ty][tx] = first + ty < k && col < n ? b[(first + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
}

void run_matmul(const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta)
{
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul<<<grid, block>>>(a, b, c, m, n, k, alpha, beta);
}

int main()
{
    int m = 300, n = 220, k = 150;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    run_matmul(a, b, c, m, n, k, 1.5f, 0.5f);
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}
