// Inline PTX: volatile, with operands and clobbers, over several lines, in macros and functions.
__device__ unsigned lane_of() { unsigned lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }
__device__ __forceinline__ unsigned add_carry(unsigned a, unsigned b)
{
    unsigned c;
    asm volatile("{\n\t"
                 "add.cc.u32 %0, %1, %2;\n\t"
                 "}" : "=r"(c) : "r"(a), "r"(b) : "memory");
    c += 1;
    return c;
}
#define FENCE() asm volatile("membar.gl;" ::: "memory")
#define PREFETCH(p) asm volatile("prefetch.global.L2 [%0];" :: "l"(p))

__global__ void ptx(unsigned *out, const unsigned *in, unsigned n)
{
    unsigned i = threadIdx.x, lane = lane_of();
    unsigned value = in[i];
    PREFETCH(in + i);
    if (lane == 0) value = add_carry(value, n);
    FENCE();
    asm("bfe.u32 %0, %1, 3, 5;" : "=r"(value) : "r"(value));
    out[i] = value + lane;
    __asm__ __volatile__("" : "+r"(i));
    value ^= i;
    out[n] = value;
}
