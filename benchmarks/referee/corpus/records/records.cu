#include <cstdio>
#include <cuda_runtime.h>

// Of each record of `width` bytes: a hash (FNV-1a) of its text in lower case, and its words, which
// spaces (bytes up to 32) part. The text itself becomes lower case, in place.
// Domain: records >= 1, width >= 1, any bytes.
__device__ unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

__global__ void records(unsigned char *text, unsigned int *hashes, int *words, int count, int width)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= count)
        return;
    unsigned char *mine = text + r * width;
    unsigned int hash = 2166136261u;
    int found = 0;
    bool inside = false;
    for (int i = 0; i < width; i++) {
        unsigned char c = lower(mine[i]);
        mine[i] = c;
        hash ^= c;
        hash *= 16777619u;
        bool space = c <= 32;
        if (!space && !inside)
            found++;
        inside = !space;
    }
    hashes[r] = hash;
    words[r] = found;
}

void run_records(unsigned char *text, unsigned int *hashes, int *words, int count, int width)
{
    int blocks = (count + 63) / 64;
    records<<<blocks, 64>>>(text, hashes, words, count, width);
}

int main()
{
    int count = 5000, width = 90;
    unsigned char *text;
    unsigned int *hashes;
    int *words;
    cudaMalloc(&text, count * width);
    cudaMalloc(&hashes, count * sizeof(unsigned int));
    cudaMalloc(&words, count * sizeof(int));
    run_records(text, hashes, words, count, width);
    cudaDeviceSynchronize();
    return 0;
}
