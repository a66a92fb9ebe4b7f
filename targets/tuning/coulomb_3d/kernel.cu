/*
 * Direct Coulomb summation: the electric potential of point charges at the
 * points of a regular grid in space. Point (x, y, z) lies at spacing * (x, y, z).
 */

/* threads of a block, across and down */
#ifndef BLOCK_X
#define BLOCK_X 16
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16
#endif

/* grid points of a thread: in x (BLOCK_X apart) and in z (neighbours) */
#ifndef WORK_X
#define WORK_X 1
#endif
#ifndef WORK_Z
#define WORK_Z 1
#endif

/* how often the loop over the atoms is unrolled */
#ifndef UNROLL
#define UNROLL 1
#endif
const int unroll_factor = UNROLL; /* nvcc expands no macros in pragmas */

/* 0: an atom is one float4; 1: x, y, z and charge in an array each */
#ifndef COLUMNS
#define COLUMNS 0
#endif

/* where atoms are read: 0 global memory, 1 the same through the read-only cache,
   2 constant memory, 3 shared memory, TILE atoms at a time */
#ifndef MEMORY
#define MEMORY 0
#endif
#ifndef TILE
#define TILE 128
#endif

/* 1: one approximate instruction for the inverse distance; 0: root and division */
#ifndef FAST_ROOT
#define FAST_ROOT 0
#endif

#define MOST_ATOMS 4000
#define THREADS (BLOCK_X * BLOCK_Y)

#if MEMORY == 1
#define LOAD(address) __ldg(address)
#else
#define LOAD(address) (*(address))
#endif

#if FAST_ROOT
#define INVERSE_ROOT(square) rsqrtf(square)
#else
#define INVERSE_ROOT(square) (1.0f / sqrtf(square))
#endif

__constant__ float4 constant_atoms[MOST_ATOMS];

static __device__ float4 load_atom(const float4 *atoms, const float *columns, int n_atoms, int i)
{
#if COLUMNS
    float4 atom;
    atom.x = LOAD(columns + i);
    atom.y = LOAD(columns + n_atoms + i);
    atom.z = LOAD(columns + 2 * n_atoms + i);
    atom.w = LOAD(columns + 3 * n_atoms + i);
    return atom;
#elif MEMORY == 2
    return constant_atoms[i];
#else
    return LOAD(atoms + i);
#endif
}

__global__ void __launch_bounds__(THREADS)
coulomb_potential(const float4 *__restrict__ atoms, const float *__restrict__ columns,
                  float *potential, int n_atoms, int width, int height, int depth, float spacing)
{
    int x = blockIdx.x * BLOCK_X * WORK_X + threadIdx.x;
    int y = blockIdx.y * BLOCK_Y + threadIdx.y;
    int z = blockIdx.z * WORK_Z;
    float sum[WORK_X][WORK_Z];

#pragma unroll
    for (int i = 0; i < WORK_X; i++) {
#pragma unroll
        for (int k = 0; k < WORK_Z; k++)
            sum[i][k] = 0.0f;
    }

#if MEMORY == 3
    __shared__ float4 tile[TILE];
    for (int first = 0; first < n_atoms; first += TILE) {
        int count = n_atoms - first < TILE ? n_atoms - first : TILE;
        __syncthreads();
        for (int i = threadIdx.y * BLOCK_X + threadIdx.x; i < count; i += THREADS)
            tile[i] = load_atom(atoms, columns, n_atoms, first + i);
        __syncthreads();
#else
    {
        int count = n_atoms;
#endif
#pragma unroll unroll_factor
        for (int at = 0; at < count; at++) {
#if MEMORY == 3
            float4 atom = tile[at];
#else
            float4 atom = load_atom(atoms, columns, n_atoms, at);
#endif
            float dy = y * spacing - atom.y;
#pragma unroll
            for (int i = 0; i < WORK_X; i++) {
                float dx = (x + i * BLOCK_X) * spacing - atom.x;
                float flat = dx * dx + dy * dy;
#pragma unroll
                for (int k = 0; k < WORK_Z; k++) {
                    float dz = (z + k) * spacing - atom.z;
                    sum[i][k] += atom.w * INVERSE_ROOT(flat + dz * dz);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < WORK_X; i++) {
#pragma unroll
        for (int k = 0; k < WORK_Z; k++) {
            if (x + i * BLOCK_X < width && y < height && z + k < depth)
                potential[((z + k) * height + y) * width + x + i * BLOCK_X] = sum[i][k];
        }
    }
}
