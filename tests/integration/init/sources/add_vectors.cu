#include <stdio.h>
#include <cuda_runtime.h>

__global__ void add_vectors(const float *A, const float *B, float *C, int count)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < count)
    {
        C[i] = A[i] + B[i];
    }
}

int main(void)
{
    cudaError_t err = cudaSuccess;
    int count = 50000;
    size_t size = count * sizeof(float);
    float *d_A = NULL, *d_B = NULL, *d_C = NULL;
    err = cudaMalloc((void **)&d_A, size);
    int threadsPerBlock = 256;
    int blocksPerGrid = (count + threadsPerBlock - 1) / threadsPerBlock;
    add_vectors<<<blocksPerGrid, threadsPerBlock>>>(d_A, d_B, d_C, count);
    err = cudaGetLastError();
    if (err != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(err)); exit(EXIT_FAILURE); }
    return 0;
}
