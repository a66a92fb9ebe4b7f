// Macros that headers and source both define, redefine and remove: each variant sees them afresh.
#define FIRST 5
#include "config.h"

#ifndef SCALE
#define SCALE 1000 /* the header's value counts */
#endif
#ifndef BLOCK
#define BLOCK 64
#endif
#undef OFFSET
#define OFFSET 7
#ifdef STEPS
#undef STEPS
#define STEPS 9
#else
#error "another variant's #undef leaked into this one"
#endif
#ifdef LEAKED
#error "another variant's #define leaked into this one"
#endif
#define LEAKED 1
#define WORDS(a, ...) \
    a __VA_ARGS__

__global__ void scale(const float *in, float *out, int n) {
    WORDS(int at =, blockIdx.x * blockDim.x + threadIdx.x;)
    if (at < n) {
        float value = MEASURED(in[at]) * SCALE;
        for (int i = 0; i < STEPS; i++) {
            value += FIRST;
        }
        out[at] = deepened(value);
    }
}
#undef WORDS
