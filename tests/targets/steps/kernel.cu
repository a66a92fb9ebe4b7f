/* Seven steps of which each takes the one before further. */
#ifndef BLOCK
#define BLOCK 64
#endif

struct Mean {
    int sum, number;
};

__constant__ int weights[4];
static __device__ int calls;

static __device__ int clamped(int at, int n)
{
    return at < 0 ? 0 : at >= n ? n - 1 : at;
}

static __device__ int stirred(int x)
{
    for (int i = 0; i < 3; i++)
        x = (x ^ (x >> 3)) * 5 + i;
    return x;
}

__device__ Mean operator+(Mean a, Mean b)
{
    return {a.sum + b.sum, a.number + b.number};
}

__global__ void stir(const int *in, int *a, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n)
        a[at] = stirred(in[at]) & 1023;
}

__global__ void smooth(const int *a, int *b, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    Mean mean = {0, 0};
    if (at >= n)
        return;
    for (int i = -1; i <= 1; i++)
        mean = mean + Mean{a[clamped(at + i, n)], 1};
    b[at] = mean.sum / mean.number;
}

__global__ void weigh(const int *b, int *a, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < 4; i++)
        sum += weights[i] * b[clamped(at + i, n)];
    if (at < n)
        a[at] = sum;
}

__global__ void turn(const int *a, int *b, int n)
{
    __shared__ int tile[BLOCK];
    int at = blockIdx.x * BLOCK + threadIdx.x;
    tile[threadIdx.x] = at < n ? a[at] : 0;
    __syncthreads();
    if (at < n)
        b[at] = tile[threadIdx.x ^ 31] + weights[at & 3];
}

__global__ void raise(const int *b, int *a, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    int x = 1;
    if (at >= n)
        return;
    for (int i = 0; i < 3; i++)
        x = (x * b[at]) & 0xffff;
    a[at] = x;
}

__global__ void tell(const int *a, int *b, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at == 0)
        atomicAdd(&calls, 1);
    if (at < n)
        b[at] = stirred(a[at]);
}

__global__ void finish(const int *b, int *out, int n)
{
    int at = blockIdx.x * BLOCK + threadIdx.x;
    if (at < n)
        out[at] = b[at] - b[clamped(at - 1, n)];
}
