#include <cstdio>
#include <cuda_runtime.h>

#define THREADS 128

// Sum, sum of squares and largest magnitude of each chunk of x. Sums are in double, as large
// values cancel. Domain: n >= 1, chunk >= 1; block b takes x[b * chunk] up to the next chunk or n.
__global__ void moments(const float *x, double *sums, double *squares, float *peaks, int n, int chunk)
{
    __shared__ double sum[THREADS];
    __shared__ double square[THREADS];
    __shared__ float peak[THREADS];
    int t = threadIdx.x;
    int begin = blockIdx.x * chunk;
    int end = begin + chunk < n ? begin + chunk : n;
    double s = 0.0;
    double q = 0.0;
    float p = 0.0f;
    for (int i = begin + t; i < end; i += THREADS) {
        double v = x[i];
        s += v;
        q += v * v;
        p = fmaxf(p, fabsf(x[i]));
    }
    sum[t] = s;
    square[t] = q;
    peak[t] = p;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            square[t] += square[t + half];
            peak[t] = fmaxf(peak[t], peak[t + half]);
        }
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = sum[0];
        squares[blockIdx.x] = square[0];
        peaks[blockIdx.x] = peak[0];
    }
}

void run_moments(const float *x, double *sums, double *squares, float *peaks, int n, int chunk)
{
    int blocks = (n + chunk - 1) / chunk;
    moments<<<blocks, THREADS>>>(x, sums, squares, peaks, n, chunk);
}

int main()
{
    int n = 1500000, chunk = 1000;
    int blocks = (n + chunk - 1) / chunk;
    float *x, *peaks;
    double *sums, *squares;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&sums, blocks * sizeof(double));
    cudaMalloc(&squares, blocks * sizeof(double));
    cudaMalloc(&peaks, blocks * sizeof(float));
    run_moments(x, sums, squares, peaks, n, chunk);
    cudaDeviceSynchronize();
    return 0;
}
