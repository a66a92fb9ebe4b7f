#include <stdio.h>
#define TILE_WIDTH 16
__global__ void multiply(float* A, float* B, float* C, int M, int N, int K)
{
  __shared__ float As[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
  int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
  int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
  float acc = 0.0;
  for (int t = 0; t < (K + TILE_WIDTH - 1) / TILE_WIDTH; ++t) {
    As[threadIdx.y][threadIdx.x] = (row < M && t * TILE_WIDTH + threadIdx.x < K) ? A[row * K + t * TILE_WIDTH + threadIdx.x] : 0;
    Bs[threadIdx.y][threadIdx.x] = (col < N && t * TILE_WIDTH + threadIdx.y < K) ? B[(t * TILE_WIDTH + threadIdx.y) * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}
void host(float *a, float *b, float *c, int m, int n, int k) {
  dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
  dim3 dimGrid(ceil(n / (float)TILE_WIDTH), ceil((float)m / TILE_WIDTH), 1);
  multiply<<<dimGrid, dimBlock>>>(a, b, c, m, n, k);
}
