#ifndef SMOOTH_DETAIL_WINDOW_CUH_
#define SMOOTH_DETAIL_WINDOW_CUH_

#include "weights.cuh"
#include "limits.h"

// The nearest index that is one.
static __device__ int clamped(int at, int n)
{
    int found = at;
    if (at < LOWEST)
        found = LOWEST;
    if (at >= n)
        found = n - 1;
    return found;
}

#endif // SMOOTH_DETAIL_WINDOW_CUH_
