/*
 * Heat on a chip: in each step of time the temperature of a cell goes up by the
 * power that it uses, and follows its four neighbours and the air around.
 * A launch makes STEPS steps: a block loads its cells and STEPS more on each
 * side, and computes one ring of cells less from step to step.
 */

/* threads of a block, across and down */
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif

/* cells of a thread, across (BLOCK_X apart) and down (BLOCK_Y apart) */
#ifndef WORK_X
#define WORK_X 1
#endif
#ifndef WORK_Y
#define WORK_Y 1
#endif

/* 1: temperatures are in shared memory; with 0 a launch makes one step */
#ifndef USE_SHARED
#define USE_SHARED 0
#endif
#ifndef STEPS
#define STEPS 1
#endif

/* where powers are read: 0 global memory; 1 the read-only cache; 2 shared memory */
#ifndef POWER
#define POWER 0
#endif

/* how often the loop over the cells of a thread is unrolled, down */
#ifndef UNROLL
#define UNROLL 1
#endif
const int unroll_factor = UNROLL; /* nvcc expands no macros in pragmas */

#define CELLS_X (BLOCK_X * WORK_X)
#define CELLS_Y (BLOCK_Y * WORK_Y)
#define TILE_W (CELLS_X + 2 * STEPS)
#define TILE_H (CELLS_Y + 2 * STEPS)

#if POWER == 1
#define LOAD_POWER(address) __ldg(address)
#else
#define LOAD_POWER(address) (*(address))
#endif

/* a cell after a step; across, down, loss and gain say how fast it follows what */
#define STEPPED(own, left, right, above, below, used)                             \
    ((own) + gain * (used) + across * ((left) + (right) - 2.0f * (own)) +         \
     down * ((above) + (below) - 2.0f * (own)) + loss * (air - (own)))

__global__ void heat(const float *__restrict__ power, const float *__restrict__ from, float *to,
                     int width, int height, int round, int steps, float across, float down,
                     float loss, float gain, float air)
{
#if USE_SHARED
    int x0 = blockIdx.x * CELLS_X - STEPS, y0 = blockIdx.y * CELLS_Y - STEPS;
    int last = min(STEPS, steps - round * STEPS);
    __shared__ float tile[2][TILE_H][TILE_W];
#if POWER == 2
    __shared__ float tile_power[TILE_H][TILE_W];
#endif
    for (int j = threadIdx.y; j < TILE_H; j += BLOCK_Y) {
        for (int i = threadIdx.x; i < TILE_W; i += BLOCK_X) {
            int x = x0 + i, y = y0 + j;
            if (x >= 0 && x < width && y >= 0 && y < height) {
                tile[0][j][i] = from[y * width + x];
#if POWER == 2
                tile_power[j][i] = power[y * width + x];
#endif
            }
        }
    }
    for (int step = 0; step < last; step++) {
        float(*now)[TILE_W] = tile[step % 2];
        __syncthreads();
#pragma unroll unroll_factor
        for (int j = threadIdx.y + step + 1; j < TILE_H - step - 1; j += BLOCK_Y) {
            for (int i = threadIdx.x + step + 1; i < TILE_W - step - 1; i += BLOCK_X) {
                int x = x0 + i, y = y0 + j;
                if (x >= 0 && x < width && y >= 0 && y < height) {
                    float own = now[j][i];
                    float left = x > 0 ? now[j][i - 1] : own;
                    float right = x < width - 1 ? now[j][i + 1] : own;
                    float above = y > 0 ? now[j - 1][i] : own;
                    float below = y < height - 1 ? now[j + 1][i] : own;
#if POWER == 2
                    float used = tile_power[j][i];
#else
                    float used = LOAD_POWER(power + y * width + x);
#endif
                    float next = STEPPED(own, left, right, above, below, used);
                    if (step < last - 1)
                        tile[1 - step % 2][j][i] = next;
                    else if (i >= STEPS && i < TILE_W - STEPS && j >= STEPS && j < TILE_H - STEPS)
                        to[y * width + x] = next;
                }
            }
        }
    }
#else
    int x0 = blockIdx.x * CELLS_X + threadIdx.x, y0 = blockIdx.y * CELLS_Y + threadIdx.y;
#pragma unroll unroll_factor
    for (int y = y0; y < min(y0 + CELLS_Y, height); y += BLOCK_Y) {
        for (int x = x0; x < min(x0 + CELLS_X, width); x += BLOCK_X) {
            const float *cell = from + y * width + x;
            float own = *cell;
            float left = x > 0 ? cell[-1] : own;
            float right = x < width - 1 ? cell[1] : own;
            float above = y > 0 ? cell[-width] : own;
            float below = y < height - 1 ? cell[width] : own;
            float used = LOAD_POWER(power + y * width + x);
            to[y * width + x] = STEPPED(own, left, right, above, below, used);
        }
    }
#endif
}
