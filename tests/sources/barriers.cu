// Matrix product with tiles; nested and brace-less loops; unrolled by pragma in several ways.
// gi-config: TILE=16
// gi-config: TILE=32 PREFETCH=1 UNROLL=4
#ifndef TILE
#define TILE 16
#endif
#ifdef UNROLL
constexpr int kUnroll = UNROLL;  // the compiler expands no macro in a pragma
#endif

__global__ void matmul(const float* A, const float* B, float* C, int N)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
#ifdef PREFETCH
    float next_a = A[row * N + threadIdx.x];
    float next_b = B[threadIdx.y * N + col];
#endif
    for (int t = 0; t < N / TILE; ++t)
    {
#ifdef PREFETCH
        a[threadIdx.y][threadIdx.x] = next_a;
        b[threadIdx.y][threadIdx.x] = next_b;
        if (t + 1 < N / TILE) {
            next_a = A[row * N + (t + 1) * TILE + threadIdx.x];
            next_b = B[((t + 1) * TILE + threadIdx.y) * N + col];
        }
#else
        a[threadIdx.y][threadIdx.x] = A[row * N + t * TILE + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * N + col];
#endif
        __syncthreads();
#if defined(UNROLL)
#pragma unroll kUnroll
#else
#pragma unroll
#endif
        for (int k = 0; k < TILE; ++k)
            acc += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < N && col < N)
        C[row * N + col] = acc;
}

__global__ void transpose(float *odata, const float *idata, int width, int height)
{
    __shared__ float block[TILE][TILE + 1];
    unsigned int xIndex = blockIdx.x * TILE + threadIdx.x;
    unsigned int yIndex = blockIdx.y * TILE + threadIdx.y;
    if ((xIndex < width) && (yIndex < height))
    {
        unsigned int index_in = yIndex * width + xIndex;
        block[threadIdx.y][threadIdx.x] = idata[index_in];
    }
    __syncthreads();
    xIndex = blockIdx.y * TILE + threadIdx.x;
    yIndex = blockIdx.x * TILE + threadIdx.y;
    if ((xIndex < height) && (yIndex < width))
    {
        unsigned int index_out = yIndex * height + xIndex;
        odata[index_out] = block[threadIdx.x][threadIdx.y];
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (i == j)
                odata[i] = j;
            else
                for (int k = 0; k < 2; k++)
#pragma unroll 2
                    for (int m = 0; m < 2; m++)
                        odata[k] += m;
}

__global__ void histogram(const unsigned char *data, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    int t = threadIdx.x, i, step;
    for (i = t; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    step = blockDim.x * gridDim.x;
    for (i = blockIdx.x * blockDim.x + t; i < n; i += step) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (i = t; i < 256; i += blockDim.x)
    {
        unsigned count = local[i];
        if (count) atomicAdd(bins + i, count);
    }
}
