// Two variables of one name in two branches of an #if are two declarations.
// gi-config:
// gi-config: WIDE=1
// gi-config: WIDE=1 CHECK=2
// gi-config: CHECK=1
#ifdef WIDE
typedef double number;
#define ZERO 0.0
struct Extra { double value; int index; };
#else
typedef int number;
#define ZERO 0
struct Extra { int value; };
#endif
#ifndef CHECK
#define CHECK 0
#endif
#if CHECK > 0
__device__ bool is_good(number x) { bool good = x > ZERO; return good; }
#endif

__global__ void branches(number *out, const number *in, int n)
{
    int i = threadIdx.x;
#ifdef WIDE
    double step = in[i];
    double scale = 2.0;
    Extra extra = {step, i};
    extra.index = i + 1;
#else
    int step = i;
    int scale = 2;
    Extra extra = {step};
    scale <<= 1;
    step &= 7;
#endif
    extra.value = step * scale;
#if CHECK == 2
    const number *limit = in + n;
    if (in + i < limit && is_good(in[i])) out[i] = *(limit - 1);
#elif CHECK == 1
    number limit = in[n];
    if (in[i] < limit && is_good(limit)) out[i] = limit;
#else
    int limit = n;
    if (i < limit) out[i] = limit;
#endif
    out[i] += step + scale;
    step = ZERO;
    out[0] = extra.value;
}
