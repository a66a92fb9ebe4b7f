#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define THREADS 64
#define DIRECTIONS 9

// One step of a lattice gas with nine directions on a torus (D2Q9): stream, collide, push.
//
//   6 2 5        direction 0 rests; 1 to 4 go along the axes, 5 to 8 along the diagonals;
//   3 0 1        populations of a direction lie together: f[d * width * height + y * width + x].
//   7 4 8
//
// Where solid[cell] is not 0 populations are turned back instead of relaxed.
// Domain: width >= 1, height >= 1, 0 < relax < 2, any push; populations positive.
__device__ int wrapped(int at, int size)
{
    if (at < 0)
        return at + size;
    if (at >= size)
        return at - size;
    return at;
}

__device__ float equilibrium(float weight, float density, float along, float speed)
{
    return weight * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * speed);
}

__global__ void lattice(const float *from, float *to, float *density_out, const int *solid,
                        int width, int height, float relax, float push)
{
    int cells = width * height;
    int cell = blockIdx.x * THREADS + threadIdx.x;
    if (cell >= cells)
        return;
    int x = cell % width;
    int y = cell / width;

    int left = wrapped(x - 1, width);
    int right = wrapped(x + 1, width);
    int below = wrapped(y - 1, height);
    int above = wrapped(y + 1, height);

    // Stream: what arrives here comes from the neighbour on the other side.
    float f0 = from[0 * cells + y * width + x];
    float f1 = from[1 * cells + y * width + left];
    float f2 = from[2 * cells + below * width + x];
    float f3 = from[3 * cells + y * width + right];
    float f4 = from[4 * cells + above * width + x];
    float f5 = from[5 * cells + below * width + left];
    float f6 = from[6 * cells + below * width + right];
    float f7 = from[7 * cells + above * width + right];
    float f8 = from[8 * cells + above * width + left];

    float density = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    density_out[cell] = density;

    if (solid[cell] != 0) {
        // Bounce back: each population leaves in the opposite direction.
        to[0 * cells + cell] = f0;
        to[1 * cells + cell] = f3;
        to[2 * cells + cell] = f4;
        to[3 * cells + cell] = f1;
        to[4 * cells + cell] = f2;
        to[5 * cells + cell] = f7;
        to[6 * cells + cell] = f8;
        to[7 * cells + cell] = f5;
        to[8 * cells + cell] = f6;
        return;
    }

    float vx = (f1 + f5 + f8 - f3 - f6 - f7) / density;
    float vy = (f2 + f5 + f6 - f4 - f7 - f8) / density;
    vx += push;
    float speed = vx * vx + vy * vy;

    const float rest = 4.0f / 9.0f;
    const float axis = 1.0f / 9.0f;
    const float diagonal = 1.0f / 36.0f;

    float e0 = equilibrium(rest, density, 0.0f, speed);
    float e1 = equilibrium(axis, density, vx, speed);
    float e2 = equilibrium(axis, density, vy, speed);
    float e3 = equilibrium(axis, density, -vx, speed);
    float e4 = equilibrium(axis, density, -vy, speed);
    float e5 = equilibrium(diagonal, density, vx + vy, speed);
    float e6 = equilibrium(diagonal, density, -vx + vy, speed);
    float e7 = equilibrium(diagonal, density, -vx - vy, speed);
    float e8 = equilibrium(diagonal, density, vx - vy, speed);

    // Collide: towards the equilibrium.
    to[0 * cells + cell] = f0 + relax * (e0 - f0);
    to[1 * cells + cell] = f1 + relax * (e1 - f1);
    to[2 * cells + cell] = f2 + relax * (e2 - f2);
    to[3 * cells + cell] = f3 + relax * (e3 - f3);
    to[4 * cells + cell] = f4 + relax * (e4 - f4);
    to[5 * cells + cell] = f5 + relax * (e5 - f5);
    to[6 * cells + cell] = f6 + relax * (e6 - f6);
    to[7 * cells + cell] = f7 + relax * (e7 - f7);
    to[8 * cells + cell] = f8 + relax * (e8 - f8);
}

void run_lattice(const float *from, float *to, float *density, const int *solid,
                 int width, int height, float relax, float push)
{
    int cells = width * height;
    int blocks = (cells + THREADS - 1) / THREADS;
    lattice<<<blocks, THREADS>>>(from, to, density, solid, width, height, relax, push);
}

static void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        printf("%s: %s\n", what, cudaGetErrorString(status));
}

int main()
{
    int width = 400, height = 250;
    int cells = width * height;
    float *from, *to, *density;
    int *solid;
    check(cudaMalloc(&from, DIRECTIONS * cells * sizeof(float)), "from");
    check(cudaMalloc(&to, DIRECTIONS * cells * sizeof(float)), "to");
    check(cudaMalloc(&density, cells * sizeof(float)), "density");
    check(cudaMalloc(&solid, cells * sizeof(int)), "solid");
    float *start = (float *)malloc(DIRECTIONS * cells * sizeof(float));
    int *walls = (int *)malloc(cells * sizeof(int));
    for (int i = 0; i < DIRECTIONS * cells; i++)
        start[i] = 0.1f + 0.001f * (i % 13);
    for (int i = 0; i < cells; i++)
        walls[i] = i / width == 0 || i / width == height - 1;
    check(cudaMemcpy(from, start, DIRECTIONS * cells * sizeof(float), cudaMemcpyHostToDevice), "start");
    check(cudaMemcpy(solid, walls, cells * sizeof(int), cudaMemcpyHostToDevice), "walls");
    for (int step = 0; step < 100; step++) {
        run_lattice(from, to, density, solid, width, height, 0.9f, 0.001f);
        float *other = from;
        from = to;
        to = other;
    }
    check(cudaDeviceSynchronize(), "lattice");
    cudaFree(from);
    cudaFree(to);
    cudaFree(density);
    cudaFree(solid);
    free(start);
    free(walls);
    return 0;
}
