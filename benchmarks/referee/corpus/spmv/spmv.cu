#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

// y = A * x for a sparse matrix in rows: row r has entries start[r] up to start[r + 1].
// Rows may be empty or long. Domain: rows >= 1, cols >= 1; start rises from 0; 0 <= column < cols.
__global__ void spmv(const int *start, const int *column, const float *value,
                     const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        int begin = start[row];
        int end = start[row + 1];
        float sum = 0.0f;
        for (int e = begin; e < end; e++)
            sum += value[e] * x[column[e]];
        y[row] = sum;
    }
}

void run_spmv(const int *start, const int *column, const float *value,
              const float *x, float *y, int rows)
{
    int blocks = (rows + 127) / 128;
    spmv<<<blocks, 128>>>(start, column, value, x, y, rows);
}

int main()
{
    int rows = 20000, cols = 15000, entries = 7 * rows;
    int *start, *column, *host_start, *host_column;
    float *value, *x, *y;
    host_start = (int *)malloc((rows + 1) * sizeof(int));
    host_column = (int *)malloc(entries * sizeof(int));
    for (int r = 0; r <= rows; r++)
        host_start[r] = 7 * r;
    for (int e = 0; e < entries; e++)
        host_column[e] = (int)((e * 37ll) % cols);
    cudaMalloc(&start, (rows + 1) * sizeof(int));
    cudaMalloc(&column, entries * sizeof(int));
    cudaMalloc(&value, entries * sizeof(float));
    cudaMalloc(&x, cols * sizeof(float));
    cudaMalloc(&y, rows * sizeof(float));
    cudaMemcpy(start, host_start, (rows + 1) * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(column, host_column, entries * sizeof(int), cudaMemcpyHostToDevice);
    run_spmv(start, column, value, x, y, rows);
    cudaDeviceSynchronize();
    return 0;
}
