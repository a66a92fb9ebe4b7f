// Weighs the bits of stretches of a text and spreads the weights, all inputs read through textures: a target for tests.
#ifndef BLOCK
#define BLOCK 64
#endif

__device__ int bits(cudaTextureObject_t text, int block)
{
    uint4 words = tex1Dfetch<uint4>(text, block);
    return __popc(words.x) + __popc(words.y) + __popc(words.z) + __popc(words.w);
}

__global__ void weigh(cudaTextureObject_t text, cudaTextureObject_t stretches, cudaTextureObject_t weights, float *out,
                      int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (at < n) {
        uint2 stretch = tex1Dfetch<uint2>(stretches, at);
        for (int i = stretch.x; i < stretch.y; i++) {
            float weight;
            tex1Dfetch(&weight, weights, i);
            sum += weight * bits(text, i);
        }
        out[at] = sum;
    }
}

// Before the first weight and behind the last one there are zeros.
__global__ void spread(const float *in, float *out, cudaTextureObject_t weights, int n, int round)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) {
        float before = tex1Dfetch<float>(weights, at - 1 - round);
        float behind = tex1Dfetch<float>(weights, at + 1 + round);
        out[at] = 0.5f * in[at] + before - behind;
    }
}
