#include <cstdio>
#include <cuda_runtime.h>

#define TX 16
#define TY 16

// One explicit step of heat flow. A neighbour outside the plate is the nearest cell inside.
// Domain: width >= 1, height >= 1, any dt (negative to go back in time).
__global__ void diffuse(const float *heat, const float *conduct, float *next,
                        int width, int height, float dt)
{
    __shared__ float tile[TY + 2][TX + 2];
    int x = blockIdx.x * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    for (int j = threadIdx.y; j < TY + 2; j += TY) {
        for (int i = threadIdx.x; i < TX + 2; i += TX) {
            int gx = (int)(blockIdx.x * TX) + i - 1;
            int gy = (int)(blockIdx.y * TY) + j - 1;
            gx = gx < 0 ? 0 : gx;
            gy = gy < 0 ? 0 : gy;
            gx = gx > width - 1 ? width - 1 : gx;
            gy = gy > height - 1 ? height - 1 : gy;
            tile[j][i] = heat[gy * width + gx];
        }
    }
    __syncthreads();
    if (x < width && y < height) {
        int i = threadIdx.x + 1;
        int j = threadIdx.y + 1;
        float here = tile[j][i];
        float flow = tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i] - 4.0f * here;
        next[y * width + x] = here + dt * conduct[y * width + x] * flow;
    }
}

void run_diffuse(const float *heat, const float *conduct, float *next, int width, int height, float dt)
{
    dim3 block(TX, TY);
    dim3 grid((width + TX - 1) / TX, (height + TY - 1) / TY);
    diffuse<<<grid, block>>>(heat, conduct, next, width, height, dt);
}

int main()
{
    int width = 500, height = 360;
    float *heat, *conduct, *next;
    cudaMalloc(&heat, width * height * sizeof(float));
    cudaMalloc(&conduct, width * height * sizeof(float));
    cudaMalloc(&next, width * height * sizeof(float));
    run_diffuse(heat, conduct, next, width, height, 0.2f);
    cudaDeviceSynchronize();
    cudaFree(heat);
    cudaFree(conduct);
    cudaFree(next);
    return 0;
}
