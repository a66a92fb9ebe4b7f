/*
 * Transposition of a matrix that is stored row by row: out[x][y] = in[y][x].
 * A block of BLOCK_X x BLOCK_Y threads turns a tile of TILE_W x TILE_H elements.
 */

#ifndef TILE_W
#define TILE_W 32
#endif
#ifndef TILE_H
#define TILE_H 32
#endif
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif

/* 1: through a tile in shared memory, so that loads and stores are both along rows */
#ifndef USE_SHARED
#define USE_SHARED 0
#endif

/* floats that rows of the tile are longer by, against bank conflicts */
#ifndef PAD
#define PAD 0
#endif

/* floats in a load */
#ifndef VECTOR
#define VECTOR 1
#endif

/* how often the loops over the rows of the tile are unrolled */
#ifndef UNROLL
#define UNROLL 1
#endif
const int unroll_factor = UNROLL; /* nvcc expands no macros in pragmas */

/* 1: blocks that run together work on a diagonal of the matrix, not on a row */
#ifndef DIAGONAL
#define DIAGONAL 0
#endif

/* loads: 0 plain; 1 read-only cache; 2 streaming */
#ifndef LOADS
#define LOADS 0
#endif

/* 1: stores are streaming: the result is not kept in the cache */
#ifndef STREAM
#define STREAM 0
#endif

#if LOADS == 1
#define LOAD(address) __ldg(address)
#elif LOADS == 2
#define LOAD(address) __ldcs(address)
#else
#define LOAD(address) (*(address))
#endif

#if STREAM
#define STORE(address, value) __stcs(address, value)
#else
#define STORE(address, value) (*(address) = (value))
#endif

/* VECTOR elements of a row, as many of them as the matrix has */
static __device__ int load(float *to, const float *in, int x, int y, int width, int height)
{
    const float *first = in + y * width + x;
    if (y >= height)
        return 0;
#if VECTOR == 4
    if (x + 4 <= width && width % 4 == 0) {
        float4 four = LOAD((const float4 *)first);
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
        return 4;
    }
#elif VECTOR == 2
    if (x + 2 <= width && width % 2 == 0) {
        float2 two = LOAD((const float2 *)first);
        to[0] = two.x;
        to[1] = two.y;
        return 2;
    }
#endif
    int count = 0;
    for (; count < VECTOR && x + count < width; count++)
        to[count] = LOAD(first + count);
    return count;
}

__global__ void transpose(const float *__restrict__ in, float *out, int width, int height)
{
#if DIAGONAL
    int x0 = (blockIdx.x + blockIdx.y) % gridDim.x * TILE_W;
#else
    int x0 = blockIdx.x * TILE_W;
#endif
    int y0 = blockIdx.y * TILE_H;
    float loaded[VECTOR];

#if USE_SHARED
    __shared__ float tile[TILE_H][TILE_W + PAD];
#endif
#pragma unroll unroll_factor
    for (int y = threadIdx.y; y < TILE_H; y += BLOCK_Y) {
        for (int x = threadIdx.x * VECTOR; x < TILE_W; x += BLOCK_X * VECTOR) {
            int count = load(loaded, in, x0 + x, y0 + y, width, height);
            for (int v = 0; v < count; v++) {
#if USE_SHARED
                tile[y][x + v] = loaded[v];
#else
                STORE(out + (x0 + x + v) * height + y0 + y, loaded[v]);
#endif
            }
        }
    }

#if USE_SHARED
    __syncthreads();
#pragma unroll unroll_factor
    for (int x = threadIdx.y; x < TILE_W; x += BLOCK_Y) {
        for (int y = threadIdx.x; y < TILE_H; y += BLOCK_X) {
            if (x0 + x < width && y0 + y < height)
                STORE(out + (x0 + x) * height + y0 + y, tile[y][x]);
        }
    }
#endif
}
