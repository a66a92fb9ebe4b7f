/*
 * Two-dimensional convolution of an image with a filter of FILTER x FILTER
 * weights. The image has a border of FILTER - 1 further columns and rows, so
 * that the filter never leaves it: the result is width x height.
 */

/* threads of a block, across and down */
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif

/* pixels of a thread, across (BLOCK_X apart) and down (BLOCK_Y apart) */
#ifndef WORK_X
#define WORK_X 1
#endif
#ifndef WORK_Y
#define WORK_Y 1
#endif

/* 1: the pixels that a block needs are in shared memory */
#ifndef USE_SHARED
#define USE_SHARED 0
#endif

/* floats that rows in shared memory are longer by, against bank conflicts */
#ifndef PAD
#define PAD 0
#endif

/* where weights are read: 0 global memory; 1 the read-only cache; 2 constant memory */
#ifndef WEIGHTS
#define WEIGHTS 0
#endif

/* 1: pixels are read through the read-only cache */
#ifndef READ_ONLY
#define READ_ONLY 0
#endif

/* how often the loops over rows and columns of the filter are unrolled */
#ifndef UNROLL_Y
#define UNROLL_Y 1
#endif
#ifndef UNROLL_X
#define UNROLL_X 1
#endif
const int unroll_y = UNROLL_Y; /* nvcc expands no macros in pragmas */
const int unroll_x = UNROLL_X;

#define FILTER 9
#define PIXELS_X (BLOCK_X * WORK_X)
#define PIXELS_Y (BLOCK_Y * WORK_Y)
#define TILE_W (PIXELS_X + FILTER - 1)
#define TILE_H (PIXELS_Y + FILTER - 1)

#if READ_ONLY
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

__constant__ float constant_weights[FILTER * FILTER];

#if WEIGHTS == 2
#define WEIGHT(at) constant_weights[at]
#elif WEIGHTS == 1
#define WEIGHT(at) __ldg(weights + (at))
#else
#define WEIGHT(at) weights[at]
#endif

__global__ void __launch_bounds__(BLOCK_X * BLOCK_Y)
convolve(const float *__restrict__ image, const float *__restrict__ weights, float *result,
         int width, int height)
{
    int x0 = blockIdx.x * PIXELS_X, y0 = blockIdx.y * PIXELS_Y;
    int columns = width + FILTER - 1, rows = height + FILTER - 1;
    float sum[WORK_Y][WORK_X] = {};

#if USE_SHARED
    __shared__ float tile[TILE_H][TILE_W + PAD];
    for (int y = threadIdx.y; y < TILE_H; y += BLOCK_Y) {
        for (int x = threadIdx.x; x < TILE_W; x += BLOCK_X) {
            if (x0 + x < columns && y0 + y < rows)
                tile[y][x] = LOAD(image + (y0 + y) * columns + x0 + x);
        }
    }
    __syncthreads();
#endif

#pragma unroll unroll_y
    for (int dy = 0; dy < FILTER; dy++) {
#pragma unroll unroll_x
        for (int dx = 0; dx < FILTER; dx++) {
            float weight = WEIGHT(dy * FILTER + dx);
#pragma unroll
            for (int i = 0; i < WORK_Y; i++) {
#pragma unroll
                for (int j = 0; j < WORK_X; j++) {
                    int y = threadIdx.y + i * BLOCK_Y + dy;
                    int x = threadIdx.x + j * BLOCK_X + dx;
#if USE_SHARED
                    sum[i][j] += weight * tile[y][x];
#else
                    /* pixels beyond the image stand for its last ones, and are not stored */
                    y = min(y0 + y, rows - 1);
                    x = min(x0 + x, columns - 1);
                    sum[i][j] += weight * LOAD(image + y * columns + x);
#endif
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < WORK_Y; i++) {
#pragma unroll
        for (int j = 0; j < WORK_X; j++) {
            int y = y0 + threadIdx.y + i * BLOCK_Y, x = x0 + threadIdx.x + j * BLOCK_X;
            if (y < height && x < width)
                result[y * width + x] = sum[i][j];
        }
    }
}
