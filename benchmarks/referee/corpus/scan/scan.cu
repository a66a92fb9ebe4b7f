#include <cstdio>
#include <cuda_runtime.h>

#define THREADS 256

// Inclusive prefix sums within segments of 256 numbers, in place; the sum of each segment besides.
// Sums wrap around like unsigned numbers do. Domain: n >= 1.
__global__ void scan(unsigned int *data, unsigned int *totals, int n)
{
    __shared__ unsigned int ping[THREADS];
    __shared__ unsigned int pong[THREADS];
    int t = threadIdx.x;
    int i = blockIdx.x * THREADS + t;
    unsigned int *from = ping;
    unsigned int *to = pong;
    from[t] = i < n ? data[i] : 0u;
    __syncthreads();
    for (int reach = 1; reach < THREADS; reach *= 2) {
        to[t] = t >= reach ? from[t] + from[t - reach] : from[t];
        __syncthreads();
        unsigned int *other = from;
        from = to;
        to = other;
    }
    if (i < n)
        data[i] = from[t];
    if (t == THREADS - 1)
        totals[blockIdx.x] = from[t];
}

void run_scan(unsigned int *data, unsigned int *totals, int n)
{
    int blocks = (n + THREADS - 1) / THREADS;
    scan<<<blocks, THREADS>>>(data, totals, n);
}

int main()
{
    int n = 2500000;
    int blocks = (n + THREADS - 1) / THREADS;
    unsigned int *data, *totals;
    cudaMalloc(&data, n * sizeof(unsigned int));
    cudaMalloc(&totals, blocks * sizeof(unsigned int));
    run_scan(data, totals, n);
    cudaDeviceSynchronize();
    cudaFree(data);
    cudaFree(totals);
    return 0;
}
