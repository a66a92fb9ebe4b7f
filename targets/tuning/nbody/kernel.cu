/*
 * Gravity between all pairs of bodies: the acceleration of each body, with a
 * softened distance, so that a body does not act on itself and close ones do
 * not break the sum.
 */

/* threads of a block, and bodies of a thread (BLOCK apart) */
#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef WORK
#define WORK 1
#endif

/* a body in memory: 0 four floats, read one by one; 1 the same four as one
   float4; 2 x, y, z and mass in an array each */
#ifndef LAYOUT
#define LAYOUT 0
#endif

/* bodies in shared memory at a time, as a multiple of BLOCK; 0: none */
#ifndef TILES
#define TILES 0
#endif

/* READ_ONLY: read bodies through the read-only cache */
#ifndef READ_ONLY
#define READ_ONLY 0
#endif

/* how often the loop over the other bodies is unrolled */
#ifndef UNROLL
#define UNROLL 1
#endif
const int unroll_factor = UNROLL; /* nvcc expands no macros in pragmas */

/* 1: one approximate instruction for the inverse distance; 0: root and division */
#ifndef FAST_ROOT
#define FAST_ROOT 0
#endif

#define TILE (BLOCK * TILES)

#if READ_ONLY
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#if FAST_ROOT
#define INVERSE_ROOT(square) rsqrtf(square)
#else
#define INVERSE_ROOT(square) (1.0f / sqrtf(square))
#endif

static __device__ float4 load_body(const float *bodies, const float *columns, int n, int i)
{
#if LAYOUT == 1
    return LOAD((const float4 *)bodies + i);
#elif LAYOUT == 2
    float4 body;
    body.x = LOAD(columns + i);
    body.y = LOAD(columns + n + i);
    body.z = LOAD(columns + 2 * n + i);
    body.w = LOAD(columns + 3 * n + i);
    return body;
#else
    float4 body;
    body.x = LOAD(bodies + 4 * i);
    body.y = LOAD(bodies + 4 * i + 1);
    body.z = LOAD(bodies + 4 * i + 2);
    body.w = LOAD(bodies + 4 * i + 3);
    return body;
#endif
}

__global__ void __launch_bounds__(BLOCK)
accelerate(const float *__restrict__ bodies, const float *__restrict__ columns,
           float *acceleration, int n, float softening)
{
    int first = blockIdx.x * BLOCK * WORK + threadIdx.x;
    float4 own[WORK];
    float ax[WORK], ay[WORK], az[WORK];

#pragma unroll
    for (int k = 0; k < WORK; k++) {
        int i = first + k * BLOCK;
        own[k] = load_body(bodies, columns, n, i < n ? i : n - 1);
        ax[k] = 0.0f;
        ay[k] = 0.0f;
        az[k] = 0.0f;
    }

#if TILES
    __shared__ float4 tile[TILE];
    for (int start = 0; start < n; start += TILE) {
        int count = n - start < TILE ? n - start : TILE;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += BLOCK)
            tile[i] = load_body(bodies, columns, n, start + i);
        __syncthreads();
#else
    {
        int count = n;
#endif
#pragma unroll unroll_factor
        for (int at = 0; at < count; at++) {
#if TILES
            float4 other = tile[at];
#else
            float4 other = load_body(bodies, columns, n, at);
#endif
#pragma unroll
            for (int k = 0; k < WORK; k++) {
                float dx = other.x - own[k].x;
                float dy = other.y - own[k].y;
                float dz = other.z - own[k].z;
                float inverse = INVERSE_ROOT(dx * dx + dy * dy + dz * dz + softening);
                float pull = other.w * inverse * inverse * inverse;
                ax[k] += pull * dx;
                ay[k] += pull * dy;
                az[k] += pull * dz;
            }
        }
    }

#pragma unroll
    for (int k = 0; k < WORK; k++) {
        int i = first + k * BLOCK;
        if (i < n) {
            acceleration[i] = ax[k];
            acceleration[n + i] = ay[k];
            acceleration[2 * n + i] = az[k];
        }
    }
}
