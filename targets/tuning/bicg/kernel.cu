/*
 * The two products of a step of the biconjugate gradient method: q = A p and
 * s = s + A' r. A has rows x columns elements and is stored row by row.
 */

/* A p: threads that share a row, and rows of a block */
#ifndef ROW_THREADS
#define ROW_THREADS 1
#endif
#ifndef ROW_BLOCK
#define ROW_BLOCK 128
#endif

/* elements of p in shared memory at a time; 0: p is read where it lies */
#ifndef STAGE
#define STAGE 0
#endif

/* 1: threads of a row add up by shuffles; 0: through shared memory */
#ifndef SHUFFLE
#define SHUFFLE 0
#endif
#ifndef ROW_UNROLL
#define ROW_UNROLL 1
#endif

/* A' r: columns of a block, columns of a thread, threads that share a column, and
   blocks that share one: more than one add to s by atomicAdd */
#ifndef COLUMN_BLOCK
#define COLUMN_BLOCK 128
#endif
#ifndef COLUMN_WORK
#define COLUMN_WORK 1
#endif
#ifndef COLUMN_THREADS
#define COLUMN_THREADS 1
#endif
#ifndef SPLIT
#define SPLIT 1
#endif
#ifndef COLUMN_UNROLL
#define COLUMN_UNROLL 1
#endif

/* 1: the matrix is read through the read-only cache */
#ifndef READ_ONLY
#define READ_ONLY 0
#endif

const int row_unroll = ROW_UNROLL; /* nvcc expands no macros in pragmas */
const int column_unroll = COLUMN_UNROLL;

#define THREADS_ACROSS (COLUMN_BLOCK / COLUMN_WORK)

#if READ_ONLY
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

__global__ void multiply(const float *__restrict__ a, const float *__restrict__ p, float *q,
                         int rows, int columns)
{
    int row = blockIdx.x * ROW_BLOCK + threadIdx.y;
    const float *line = a + min(row, rows - 1) * columns;
    float sum = 0.0f;

#if STAGE
    __shared__ float staged[STAGE];
    for (int first = 0; first < columns; first += STAGE) {
        int count = min(STAGE, columns - first);
        __syncthreads();
        for (int i = threadIdx.y * ROW_THREADS + threadIdx.x; i < count;
             i += ROW_THREADS * ROW_BLOCK)
            staged[i] = p[first + i];
        __syncthreads();
#pragma unroll row_unroll
        for (int i = threadIdx.x; i < count; i += ROW_THREADS)
            sum += LOAD(line + first + i) * staged[i];
    }
#else
#pragma unroll row_unroll
    for (int i = threadIdx.x; i < columns; i += ROW_THREADS)
        sum += LOAD(line + i) * p[i];
#endif

#if ROW_THREADS > 1 && SHUFFLE
    for (int half = ROW_THREADS / 2; half > 0; half /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, half, ROW_THREADS);
#elif ROW_THREADS > 1
    __shared__ float sums[ROW_BLOCK][ROW_THREADS];
    sums[threadIdx.y][threadIdx.x] = sum;
    for (int half = ROW_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y][threadIdx.x + half];
    }
    sum = sums[threadIdx.y][threadIdx.x];
#endif
    if (threadIdx.x == 0 && row < rows)
        q[row] = sum;
}

__global__ void multiply_transposed(const float *__restrict__ a, const float *__restrict__ r,
                                    float *s, int rows, int columns)
{
    int column = blockIdx.x * COLUMN_BLOCK + threadIdx.x;
    float sum[COLUMN_WORK] = {};

#pragma unroll column_unroll
    for (int i = blockIdx.y * COLUMN_THREADS + threadIdx.y; i < rows; i += SPLIT * COLUMN_THREADS) {
        float factor = r[i];
#pragma unroll
        for (int k = 0; k < COLUMN_WORK; k++) {
            int x = min(column + k * THREADS_ACROSS, columns - 1);
            sum[k] += LOAD(a + i * columns + x) * factor;
        }
    }

#if COLUMN_THREADS > 1
    __shared__ float sums[COLUMN_THREADS][COLUMN_BLOCK];
    for (int k = 0; k < COLUMN_WORK; k++)
        sums[threadIdx.y][threadIdx.x + k * THREADS_ACROSS] = sum[k];
    __syncthreads();
    if (threadIdx.y > 0)
        return;
    for (int i = 1; i < COLUMN_THREADS; i++) {
        for (int k = 0; k < COLUMN_WORK; k++)
            sum[k] += sums[i][threadIdx.x + k * THREADS_ACROSS];
    }
#endif
    for (int k = 0; k < COLUMN_WORK; k++) {
        int x = column + k * THREADS_ACROSS;
        if (x < columns) {
#if SPLIT > 1
            atomicAdd(s + x, sum[k]);
#else
            s[x] += sum[k];
#endif
        }
    }
}
