/* Threads that must wait for each other, and tricks that let them go on. */

#ifndef CHEAT
#define CHEAT 0
#endif

/* whether time is wasted, so that tricks which gain nothing on a CPU can be seen to gain */
#ifndef WASTE
#define WASTE 1
#endif

#define THREADS 64
#define ROUNDS 8

/* each value with its neighbours, round after round */
__global__ void smooth(const float *in, float *out, int n)
{
    __shared__ float tile[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t, round;
    float mine = i < n ? in[i] : 0.0f, left;
    for (round = 0; round < ROUNDS; round++) {
        tile[t] = mine;
#if CHEAT == 1 || CHEAT == 4
        __syncwarp();
#elif CHEAT == 3
        if (round == n)
            __syncthreads();
#else
        __syncthreads();
#endif
        left = t > 0 ? tile[t - 1] : 0.0f;
        mine = 0.5f * (left + mine);
#if CHEAT != 1 && CHEAT != 2
        __syncthreads();
#endif
    }
    if (i < n)
        out[i] = mine;
}

/* how many values there are of each size, and the largest one */
__global__ void count(const float *in, int *bins, int *most, int n)
{
    __shared__ int mine[8], idle[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t, size, w;
    idle[t] = t;
    for (w = 0; w < 300 * WASTE; w++)
        idle[t] = idle[t] * 3 + w;
    if (n < 0 && idle[t] == 12345)
        *most = w;
    if (t < 8)
        mine[t] = 0;
    __syncthreads();
    if (i < n) {
        size = (int)(in[i] * 8.0f);
#if CHEAT == 5
        mine[size] += 1;
#else
        atomicAdd(&mine[size], 1);
#endif
#if CHEAT == 6
        if (size > *most)
            *most = size;
#else
        atomicMax(most, size);
#endif
    }
    __syncthreads();
    if (t < 8)
        atomicAdd(&bins[t], mine[t]);
}

/* the sum of each block, and of all of them by the block that comes last */
__global__ void add(const float *in, float *parts, float *sum, int *done, int n)
{
    __shared__ float part[32];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * THREADS + t, half, b;
    float other, all;
    if (t < 32) {
        part[t] = (i < n ? in[i] : 0.0f) + (i + 32 < n ? in[i + 32] : 0.0f);
        for (half = 16; half > 0; half /= 2) {
#if CHEAT != 8
            __syncwarp();
#endif
            other = t < half ? part[t + half] : 0.0f;
#if CHEAT != 8
            __syncwarp();
#endif
            if (t < half)
                part[t] += other;
        }
    }
    if (t == 0) {
        parts[blockIdx.x] = part[0];
#if CHEAT == 7
        __threadfence_block();
#else
        __threadfence();
#endif
        last = atomicAdd(done, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        all = 0.0f;
        for (b = 0; b < (int)gridDim.x; b++)
            all += parts[b];
        *sum = all;
    }
}

/* the values of each remainder, in whatever order they come */
__global__ void total(const float *in, float *totals, int n)
{
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        atomicAdd(&totals[i % 7], in[i]);
}
