// Members that are declared in a header and defined here.
#include "members.h"
void grid::Index::show() const
{
    printf("%d\n", limit);
}
__device__ bool grid::Index::inside() const
{
    return at() < limit;
}
__device__ float grid::twice(float x)
{
    return 2.0f * x;
}
__global__ void grid::change(float *a, float *b, int n)
{
    Index index(n);
    if (index.inside())
        b[index.at()] = twice(a[index.at()]) + Index::half(a[index.at()]);
}
