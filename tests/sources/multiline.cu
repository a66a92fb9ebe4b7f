// Statements, conditions and headers over several lines, with comments between their parts.
__device__ int
mix(int a,
    int b /* second */,
    int c)
{
    int d =
        a
        + b; // first
    d ^=
        c << 3 |
        /* middle */ b >> 2;
    return d;
}

__global__
void
multiline(
    int *out,
    const int *in,
    int n
)
{
    int i =
        blockIdx.x
            * blockDim.x
        + threadIdx.x;
    if (
        i
        < n
        && // both
        in[i]
            > 0
    )
    {
        out[i]
            = mix(
                in[i],
                i,
                n
            );
    }
    else if (i
             == n)
        out[0] =
            -1;
    for (
        int k = 0;
        k
            < 4
        ;
        k +=
            2
    )
        out[
            k
        ]
            += in[k]
            /* why
               not */
            * 2;
    while (i
           > n)
        i -=
            n;
}
