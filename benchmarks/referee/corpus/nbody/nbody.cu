#include <cstdio>
#include <cuda_runtime.h>

#define BODIES 64

// Acceleration of each body by all others; a body is (x, y, z, mass), its mass of either sign.
// Domain: n >= 1, softening > 0.
__global__ void nbody(const float4 *body, float4 *pull, int n, float softening)
{
    __shared__ float4 near[BODIES];
    int t = threadIdx.x;
    int i = blockIdx.x * BODIES + t;
    float4 me = i < n ? body[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float ax = 0.0f;
    float ay = 0.0f;
    float az = 0.0f;
    for (int first = 0; first < n; first += BODIES) {
        int many = n - first < BODIES ? n - first : BODIES;
        if (t < many)
            near[t] = body[first + t];
        __syncthreads();
        for (int j = 0; j < many; j++) {
            float dx = near[j].x - me.x;
            float dy = near[j].y - me.y;
            float dz = near[j].z - me.z;
            float square = dx * dx + dy * dy + dz * dz + softening;
            float inverse = 1.0f / sqrtf(square);
            float strength = near[j].w * inverse * inverse * inverse;
            ax += strength * dx;
            ay += strength * dy;
            az += strength * dz;
        }
        __syncthreads();
    }
    if (i < n)
        pull[i] = make_float4(ax, ay, az, me.w);
}

void run_nbody(const float4 *body, float4 *pull, int n, float softening)
{
    int blocks = (n + BODIES - 1) / BODIES;
    nbody<<<blocks, BODIES>>>(body, pull, n, softening);
}

int main()
{
    int n = 3000;
    float4 *body, *pull;
    cudaMalloc(&body, n * sizeof(float4));
    cudaMalloc(&pull, n * sizeof(float4));
    run_nbody(body, pull, n, 0.01f);
    cudaDeviceSynchronize();
    cudaFree(body);
    cudaFree(pull);
    return 0;
}
