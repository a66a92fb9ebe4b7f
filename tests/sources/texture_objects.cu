// Texture objects over linear memory: both forms of tex1Dfetch, objects handed on, fetches of several types.
#define LETTER(words, at) ((tex1Dfetch<unsigned int>(words, (at) >> 4) >> (((at) & 15) * 2)) & 3)
#define NONE 255

struct Block { uint4 bits; unsigned counts[4]; };

__device__ __forceinline__ void load(Block &block, cudaTextureObject_t bwt, int at)
{
    uint4 counts;
    tex1Dfetch(&block.bits, bwt, 2 * at);
    tex1Dfetch(&counts, bwt, 2 * at + 1);
    block.counts[0] = counts.x;
    block.counts[1] = counts.y;
    block.counts[2] = counts.z;
    block.counts[3] = counts.w;
}

__device__ int rank(cudaTextureObject_t bwt, cudaTextureObject_t second, int at, bool forward)
{
    const cudaTextureObject_t chosen = forward ? bwt : second;
    Block block;
    load(block, chosen, at / 128);
    int found = __popc(block.bits.x & 3) + __popc(block.bits.y);
    if (at % 128 > 64 && forward) {
        found += __popc(block.bits.z) + __popc(block.bits.w);
    }
    return found + block.counts[at & 3];
}

template <class T>
__device__ T sum_of(cudaTextureObject_t values, int from, int to)
{
    T sum = T();
    for (int i = from; i < to; i++) {
        T value = tex1Dfetch<T>(values, i);
        sum += value;
    }
    return sum;
}

__global__ void search(cudaTextureObject_t bwt, cudaTextureObject_t reverse, cudaTextureObject_t reads,
                       const cudaTextureObject_t qualities, cudaTextureObject_t ends, uint2 *ranges, float *scores, int n)
{
    int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= n) return;
    const uint2 end = tex1Dfetch<uint2>(ends, read);
    uint2 range = end;
    range.x = 0;
    range.y = n;
    float score = 0.0f, quality = 1;
    unsigned char before = NONE;
    for (int i = end.x; i < (int)end.y; ++i) {
        int letter = LETTER(reads, i);
        unsigned char after = tex1Dfetch<unsigned char>(reads, i + 1);
        tex1Dfetch(&quality, qualities, i);
        range.x = rank(bwt, reverse, range.x + letter, true);
        range.y = rank(bwt, reverse, range.y + letter, letter > 1);
        score += after == before ? quality : 0.5f * quality;
        before = after;
        if (range.x > range.y) break;
    }
    score += sum_of<float>(qualities, end.x, end.y) + sum_of<int>(ends, -1, read);
    ranges[read] = range;
    scores[read] = score;
}
