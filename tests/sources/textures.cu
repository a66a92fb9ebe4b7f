// Texture objects and references, surfaces aside.
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 12
#define NO_REFERENCES
#endif
#ifndef NO_REFERENCES
texture<float, 1> samples;
texture<uint4, 1, cudaReadModeElementType> packed;
#endif

__device__ float fetch(cudaTextureObject_t object, int at) { float value = tex1Dfetch<float>(object, at); return value; }

__global__ void textures(float *out, cudaTextureObject_t object, cudaTextureObject_t second, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    if (i < n) {
        value = fetch(object, i);
        value += tex1Dfetch<float>(second, i + 1);
    }
#ifndef NO_REFERENCES
    value += tex1Dfetch(samples, i);
    uint4 four = tex1Dfetch(packed, i >> 2);
    if (four.x > 3) value = four.y;
#endif
    uint4 wide = tex1Dfetch<uint4>(object, i >> 2);
    out[i] = value + wide.x;
    wide.y ^= wide.z;
    out[n] = wide.y;
}
