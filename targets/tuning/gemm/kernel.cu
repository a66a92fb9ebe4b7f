/*
 * Product of two matrices, all stored row by row: C = alpha A B + beta C.
 * A has m rows and k columns, B has k rows and n columns.
 */

/* the tile of C of a block, and its threads */
#ifndef TILE_M
#define TILE_M 16
#endif
#ifndef TILE_N
#define TILE_N 16
#endif
#ifndef THREADS_M
#define THREADS_M 16
#endif
#ifndef THREADS_N
#define THREADS_N 16
#endif

/* 1: tiles of A and B, TILE_K deep, are in shared memory */
#ifndef USE_SHARED
#define USE_SHARED 0
#endif
#ifndef TILE_K
#define TILE_K 16
#endif

/* 1: the next tiles are loaded while these are multiplied */
#ifndef DOUBLE_BUFFER
#define DOUBLE_BUFFER 0
#endif

/* floats that rows in shared memory are longer by, against bank conflicts */
#ifndef PAD
#define PAD 0
#endif

/* floats in a load from global memory */
#ifndef VECTOR
#define VECTOR 1
#endif
#if VECTOR == 4
typedef float4 vector_t;
#elif VECTOR == 2
typedef float2 vector_t;
#else
typedef float vector_t;
#endif

/* how often the loop over k is unrolled */
#ifndef UNROLL
#define UNROLL 1
#endif
const int unroll_factor = UNROLL; /* nvcc expands no macros in pragmas */

/* columns of a thread: 1 THREADS_N apart; 0 next to each other */
#ifndef STRIDED
#define STRIDED 1
#endif

#define WORK_M (TILE_M / THREADS_M)
#define WORK_N (TILE_N / THREADS_N)
#define THREADS (THREADS_M * THREADS_N)
#define ROW(i) ((int)threadIdx.y + (i) * THREADS_M)
#define COLUMN(j) \
    (STRIDED ? (int)threadIdx.x + (j) * THREADS_N : (int)threadIdx.x * WORK_N + (j))

#if USE_SHARED
/* VECTOR elements of a row; 0 beyond the matrix */
static __device__ void load(float *to, const float *from, int row, int column, int rows, int columns)
{
    const float *first = from + row * columns + column;
    if (VECTOR > 1 && row < rows && column + VECTOR <= columns && columns % VECTOR == 0) {
        *(vector_t *)to = *(const vector_t *)first;
        return;
    }
    for (int v = 0; v < VECTOR; v++)
        to[v] = row < rows && column + v < columns ? first[v] : 0.0f;
}

/* the tiles of A, transposed, and of B that begin at this k */
static __device__ void load_tiles(float (*tile_a)[TILE_M + PAD], float (*tile_b)[TILE_N + PAD],
                                  const float *a, const float *b, int m, int n, int k, int from)
{
    int thread = threadIdx.y * THREADS_N + threadIdx.x;
    __align__(16) float loaded[VECTOR];
    for (int i = thread * VECTOR; i < TILE_M * TILE_K; i += THREADS * VECTOR) {
        load(loaded, a, blockIdx.y * TILE_M + i / TILE_K, from + i % TILE_K, m, k);
        for (int v = 0; v < VECTOR; v++)
            tile_a[i % TILE_K + v][i / TILE_K] = loaded[v];
    }
    for (int i = thread * VECTOR; i < TILE_K * TILE_N; i += THREADS * VECTOR) {
        load(loaded, b, from + i / TILE_N, blockIdx.x * TILE_N + i % TILE_N, k, n);
        for (int v = 0; v < VECTOR; v++)
            tile_b[i / TILE_N][i % TILE_N + v] = loaded[v];
    }
}
#endif

__global__ void __launch_bounds__(THREADS)
gemm(const float *__restrict__ a, const float *__restrict__ b, float *c, int m, int n, int k,
     float alpha, float beta)
{
    int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;
    float sum[WORK_M][WORK_N] = {};

#if USE_SHARED
    __shared__ float tile_a[DOUBLE_BUFFER + 1][TILE_K][TILE_M + PAD];
    __shared__ float tile_b[DOUBLE_BUFFER + 1][TILE_K][TILE_N + PAD];
#if DOUBLE_BUFFER
    load_tiles(tile_a[0], tile_b[0], a, b, m, n, k, 0);
#endif
    for (int from = 0; from < k; from += TILE_K) {
        __syncthreads();
#if DOUBLE_BUFFER
        int now = from / TILE_K % 2;
        if (from + TILE_K < k)
            load_tiles(tile_a[1 - now], tile_b[1 - now], a, b, m, n, k, from + TILE_K);
#else
        int now = 0;
        load_tiles(tile_a[0], tile_b[0], a, b, m, n, k, from);
        __syncthreads();
#endif
#pragma unroll unroll_factor
        for (int l = 0; l < TILE_K; l++) {
#pragma unroll
            for (int i = 0; i < WORK_M; i++)
#pragma unroll
                for (int j = 0; j < WORK_N; j++)
                    sum[i][j] += tile_a[now][l][ROW(i)] * tile_b[now][l][COLUMN(j)];
        }
    }
#else
    /* rows and columns beyond the matrix stand for its last ones, and are not stored */
#pragma unroll unroll_factor
    for (int l = 0; l < k; l++) {
#pragma unroll
        for (int i = 0; i < WORK_M * WORK_N; i++) {
            int y = min(row + ROW(i / WORK_N), m - 1), x = min(column + COLUMN(i % WORK_N), n - 1);
            sum[i / WORK_N][i % WORK_N] += a[y * k + l] * b[l * n + x];
        }
    }
#endif
#pragma unroll
    for (int i = 0; i < WORK_M * WORK_N; i++) {
        int y = row + ROW(i / WORK_N), x = column + COLUMN(i % WORK_N);
        if (y < m && x < n)
            c[y * n + x] = alpha * sum[i / WORK_N][i % WORK_N] + beta * c[y * n + x];
    }
}
