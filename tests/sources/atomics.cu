// Functions with overloads and templates: atomics, minima, shuffles, votes, intrinsics, mathematics.
__global__ void atomics(int *counts, unsigned *flags, float *sums, unsigned long long *wide, const float *in, int n)
{
    int i = threadIdx.x, lane = i % warpSize;
    unsigned bit = 1u << lane, all = __ballot_sync(0xffffffffu, in[i] > 0.0f);
    float x = in[i], y = in[0];
    int old = atomicAdd(&counts[i & 7], 1);
    atomicOr(flags + lane, bit);
    if (atomicCAS(counts, 0, i) == 0) atomicExch(&counts[1], lane);
    atomicAdd(sums, x * y);
    atomicMax(counts + 2, max(i, old));
    atomicMin(flags, min(bit, all));
    atomicAdd(wide, 1ull);
    x = fmaxf(x, __shfl_xor_sync(all, y, 1));
    y = sqrtf(x * x + y * y) + fabsf(x) - __expf(y);
    i = __popc(all) + __ffs(bit) - __clz(old);
    x = __shfl_down_sync(0xffffffffu, x, 2) + powf(y, 2.0f);
    if (__any_sync(all, i > n) && __all_sync(all, x > y)) sums[1] = fminf(x, y);
    counts[3] = max(min(i, n), old) + abs(old);
    sums[2] = __ldg(in + 1) + rsqrtf(y + 1.0f);
    __threadfence();
    __syncwarp();
    flags[1] = all & bit;
}
