// Turns and blurs an image through textures, writes it through a surface and reads that again: a target for tests.
#ifndef BLOCK
#define BLOCK 16
#endif

__device__ float4 mean(cudaTextureObject_t image, float x, float y)
{
    float4 one = tex2D<float4>(image, x - 0.5f, y);
    float4 two = tex2D<float4>(image, x + 0.5f, y);
    return make_float4((one.x + two.x) / 2, (one.y + two.y) / 2, (one.z + two.z) / 2, (one.w + two.w) / 2);
}

__global__ void blur(cudaTextureObject_t image, cudaSurfaceObject_t grey, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float4 colour = mean(image, x + 0.5f, y + 0.5f);
        surf2Dwrite(0.25f * (colour.x + colour.y + colour.z + colour.w), grey, x * (int)sizeof(float), y);
    }
}

// Every pixel is the one opposite, for the image begins anew beyond its edges.
__global__ void turn(cudaTextureObject_t grey, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(grey, -(x + 0.5f) / width, -(y + 0.5f) / height);
}
