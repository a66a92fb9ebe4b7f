/*
 * Adds many floats to a total, in two kernels: each block of the first one adds
 * up BLOCK * ITEMS of them, one block of the second one adds up these sums. With
 * ATOMIC the blocks of the first one add to the total, and there is no second.
 */

/* threads of a block, and floats of a thread */
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef ITEMS
#define ITEMS 1
#endif

/* floats in a load, and sums of a thread, whose additions do not wait for each other */
#ifndef VECTOR
#define VECTOR 1
#endif
#ifndef SUMS
#define SUMS 1
#endif

/* the floats of a thread: 0 a block apart, neighbours for neighbouring threads; 1 in a row */
#ifndef IN_A_ROW
#define IN_A_ROW 0
#endif

/* 1: loads go through the read-only cache */
#ifndef READ_ONLY
#define READ_ONLY 0
#endif

/* the sum of a block: 0 a tree in shared memory; 1 a tree as far as one warp, then shuffles;
   2 shuffles in all warps, then in one */
#ifndef REDUCE
#define REDUCE 0
#endif

/* 1: blocks add their sums to the total */
#ifndef ATOMIC
#define ATOMIC 0
#endif

/* threads of the second kernel */
#ifndef FINISH_BLOCK
#define FINISH_BLOCK 128
#endif

#define WARP 32
#define LOADS (ITEMS / VECTOR)

#if VECTOR == 4
typedef float4 vector_t;
#elif VECTOR == 2
typedef float2 vector_t;
#else
typedef float vector_t;
#endif

#if READ_ONLY
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#if REDUCE
static __device__ float warp_sum(float value)
{
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}
#endif

/* The sum over all threads of a block, for the first of them. */
static __device__ float block_sum(float value, float *shared, int threads)
{
    int thread = threadIdx.x;
#if REDUCE == 2
    value = warp_sum(value);
    if (thread % WARP == 0)
        shared[thread / WARP] = value;
    __syncthreads();
    if (thread < WARP)
        value = warp_sum(thread < threads / WARP ? shared[thread] : 0.0f);
#else
    shared[thread] = value;
    __syncthreads();
    for (int half = threads / 2; half > (REDUCE == 1 ? WARP / 2 : 0); half /= 2) {
        if (thread < half)
            shared[thread] += shared[thread + half];
        __syncthreads();
    }
    value = shared[thread];
#if REDUCE == 1
    value = thread < WARP ? warp_sum(value) : value;
#endif
#endif
    return value;
}

__global__ void sum_blocks(const float *__restrict__ values, float *partial, float *total, int n)
{
    __shared__ float shared[BLOCK];
    float sums[SUMS] = {};
    int first = blockIdx.x * BLOCK * ITEMS;

#pragma unroll
    for (int i = 0; i < LOADS; i++) {
#if IN_A_ROW
        int at = first + (threadIdx.x * LOADS + i) * VECTOR;
#else
        int at = first + (i * BLOCK + threadIdx.x) * VECTOR;
#endif
        if (at + VECTOR <= n) {
            vector_t loaded = LOAD((const vector_t *)(values + at));
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                sums[(i * VECTOR + v) % SUMS] += ((const float *)&loaded)[v];
        }
#if VECTOR > 1
        for (; at + VECTOR > n && at < n; at++)
            sums[0] += values[at];
#endif
    }
#if SUMS > 1
    for (int k = 1; k < SUMS; k++)
        sums[0] += sums[k];
#endif

    float sum = block_sum(sums[0], shared, BLOCK);
    if (threadIdx.x == 0) {
#if ATOMIC
        atomicAdd(total, sum);
#else
        partial[blockIdx.x] = sum;
#endif
    }
}

__global__ void sum_partials(const float *__restrict__ partial, float *total, int count)
{
    __shared__ float shared[FINISH_BLOCK];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += FINISH_BLOCK)
        sum += partial[i];
    sum = block_sum(sum, shared, FINISH_BLOCK);
    if (threadIdx.x == 0)
        *total += sum;
}
