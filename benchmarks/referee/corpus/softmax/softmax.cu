#include <cstdio>
#include <cuda_runtime.h>

#define THREADS 256

// Softmax of each row of x at a temperature; a block takes row after row.
// Domain: rows >= 1, cols >= 1, temperature > 0, every x finite. x and y do not overlap.
__global__ void softmax(const float *x, float *y, int rows, int cols, float temperature)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x;
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *in = x + row * cols;
        float *out = y + row * cols;

        float top = in[0];
        for (int c = t; c < cols; c += THREADS)
            top = in[c] > top ? in[c] : top;
        part[t] = top;
        __syncthreads();
        for (int s = THREADS / 2; s > 0; s /= 2) {
            if (t < s && part[t + s] > part[t])
                part[t] = part[t + s];
            __syncthreads();
        }
        top = part[0];
        __syncthreads();

        float sum = 0.0f;
        for (int c = t; c < cols; c += THREADS)
            sum += expf((in[c] - top) / temperature);
        part[t] = sum;
        __syncthreads();
        for (int s = THREADS / 2; s > 0; s /= 2) {
            if (t < s)
                part[t] += part[t + s];
            __syncthreads();
        }
        sum = part[0];
        __syncthreads();
        for (int c = t; c < cols; c += THREADS)
            out[c] = expf((in[c] - top) / temperature) / sum;
    }
}

void run_softmax(const float *x, float *y, int rows, int cols, float temperature)
{
    int blocks = rows < 512 ? rows : 512;
    softmax<<<blocks, THREADS>>>(x, y, rows, cols, temperature);
}

int main()
{
    int rows = 2000, cols = 777;
    float *x, *y;
    cudaMalloc(&x, rows * cols * sizeof(float));
    cudaMalloc(&y, rows * cols * sizeof(float));
    run_softmax(x, y, rows, cols, 1.5f);
    cudaDeviceSynchronize();
    cudaFree(x);
    cudaFree(y);
    return 0;
}
