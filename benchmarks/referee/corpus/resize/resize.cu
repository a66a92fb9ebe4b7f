#include <cstdio>
#include <cuda_runtime.h>

#define NEAREST 0
#define BILINEAR 1
#define AREA 2

#define CLAMP 0
#define MIRROR 1
#define BLACK 2

// Resamples a picture of bytes with several channels to floats from 0 to 1, as networks want it:
// plane by plane, each channel less its mean and divided by its deviation.
//
// filter  NEAREST, BILINEAR or AREA (the mean of all pixels under one of the result)
// border  which pixel stands for one outside: the nearest (CLAMP), the mirrored one (MIRROR), or
//         none, which counts as 0 (BLACK)
// shift   by how many pixels of the source the picture is moved to the left, of either sign
//
// Domain: all sizes >= 1, 1 <= channels <= 4, filter and border as above, -1000 < shift < 1000;
// means are any numbers, deviations not 0.
__device__ int mirrored(int at, int size)
{
    int period = 2 * size;
    at = at % period;
    if (at < 0)
        at += period;
    return at < size ? at : period - 1 - at;
}

__device__ float pixel(const unsigned char *picture, int width, int height, int channels,
                       int x, int y, int channel, int border)
{
    if (border == BLACK) {
        if (x < 0 || x >= width || y < 0 || y >= height)
            return 0.0f;
    } else if (border == MIRROR) {
        x = mirrored(x, width);
        y = mirrored(y, height);
    } else {
        x = x < 0 ? 0 : x;
        x = x > width - 1 ? width - 1 : x;
        y = y < 0 ? 0 : y;
        y = y > height - 1 ? height - 1 : y;
    }
    return picture[(y * width + x) * channels + channel] / 255.0f;
}

__device__ float nearest(const unsigned char *picture, int width, int height, int channels,
                         float sx, float sy, int channel, int border)
{
    int x = (int)floorf(sx);
    int y = (int)floorf(sy);
    return pixel(picture, width, height, channels, x, y, channel, border);
}

__device__ float bilinear(const unsigned char *picture, int width, int height, int channels,
                          float sx, float sy, int channel, int border)
{
    float bx = floorf(sx - 0.5f);
    float by = floorf(sy - 0.5f);
    float fx = sx - 0.5f - bx;
    float fy = sy - 0.5f - by;
    int x = (int)bx;
    int y = (int)by;
    float p00 = pixel(picture, width, height, channels, x, y, channel, border);
    float p10 = pixel(picture, width, height, channels, x + 1, y, channel, border);
    float p01 = pixel(picture, width, height, channels, x, y + 1, channel, border);
    float p11 = pixel(picture, width, height, channels, x + 1, y + 1, channel, border);
    float upper = p00 + fx * (p10 - p00);
    float lower = p01 + fx * (p11 - p01);
    return upper + fy * (lower - upper);
}

__device__ float area(const unsigned char *picture, int width, int height, int channels,
                      int x0, int y0, int x1, int y1, int channel, int border)
{
    float sum = 0.0f;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            sum += pixel(picture, width, height, channels, x, y, channel, border);
    return sum / ((x1 - x0) * (y1 - y0));
}

__global__ void resize(const unsigned char *picture, float *planes, const float *means,
                       const float *deviations, int width, int height, int channels,
                       int new_width, int new_height, int filter, int border, int shift)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= new_width || y >= new_height)
        return;
    float scale_x = (float)width / new_width;
    float scale_y = (float)height / new_height;
    float sx = (x + 0.5f) * scale_x + shift;
    float sy = (y + 0.5f) * scale_y;
    int x0 = x * width / new_width + shift;
    int x1 = (x + 1) * width / new_width + shift;
    int y0 = y * height / new_height;
    int y1 = (y + 1) * height / new_height;
    if (x1 == x0)
        x1 = x0 + 1;
    if (y1 == y0)
        y1 = y0 + 1;
    for (int channel = 0; channel < channels; channel++) {
        float value;
        if (filter == NEAREST)
            value = nearest(picture, width, height, channels, sx, sy, channel, border);
        else if (filter == BILINEAR)
            value = bilinear(picture, width, height, channels, sx, sy, channel, border);
        else
            value = area(picture, width, height, channels, x0, y0, x1, y1, channel, border);
        value = (value - means[channel]) / deviations[channel];
        planes[(channel * new_height + y) * new_width + x] = value;
    }
}

void run_resize(const unsigned char *picture, float *planes, const float *means,
                const float *deviations, int width, int height, int channels,
                int new_width, int new_height, int filter, int border, int shift)
{
    dim3 block(16, 8);
    dim3 grid((new_width + 15) / 16, (new_height + 7) / 8);
    resize<<<grid, block>>>(picture, planes, means, deviations, width, height, channels,
                            new_width, new_height, filter, border, shift);
}

static void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        printf("%s: %s\n", what, cudaGetErrorString(status));
}

int main()
{
    int width = 500, height = 400, channels = 3;
    int new_width = 224, new_height = 224;
    unsigned char *picture;
    float *planes, *means, *deviations;
    cudaMalloc(&picture, width * height * channels);
    cudaMalloc(&planes, new_width * new_height * channels * sizeof(float));
    cudaMalloc(&means, channels * sizeof(float));
    cudaMalloc(&deviations, channels * sizeof(float));
    run_resize(picture, planes, means, deviations, width, height, channels, new_width, new_height,
               BILINEAR, CLAMP, 0);
    run_resize(picture, planes, means, deviations, width, height, channels, new_width, new_height,
               AREA, MIRROR, -3);
    run_resize(picture, planes, means, deviations, width, height, channels, new_width, new_height,
               NEAREST, BLACK, 5);
    check(cudaDeviceSynchronize(), "resize");
    cudaFree(picture);
    cudaFree(planes);
    cudaFree(means);
    cudaFree(deviations);
    return 0;
}
