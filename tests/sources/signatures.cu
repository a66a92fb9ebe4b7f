// #if that selects between signatures, heads of loops, attributes, template heads, initialiser lists.
// gi-config:
// gi-config: DOUBLE=1
// gi-config: STRIDED=1 UNROLLED=1
// gi-config: DOUBLE=1 STRIDED=1
#ifdef DOUBLE
#define T double
__device__ double weight(double x, int k)
#else
#define T float
__device__ float weight(float x, int k)
#endif
{
    T y = x;
    y *= k;
    return y;
}
#ifdef STRIDED
__device__ int next_index(int i, int stride) { int next = i + stride; return next; }
#else
__device__ int next_index(int i) { int next = i; next++; return next; }
#endif

__global__ void signatures(T *out, const T *in,
#ifdef STRIDED
                           int stride,
#endif
                           int n)
{
    T total = 0;
    int i = threadIdx.x;
    const int sizes[] = {
        1, 2,
#ifdef DOUBLE
        3,
#endif
        4
    };
#ifdef STRIDED
    for (int k = i; k < n; k = next_index(k, stride)) {
#else
    for (int k = i; k < n; k = next_index(k)) {
#endif
        total += weight(in[k], sizes[k & 1]);
#ifdef UNROLLED
        if (k + 1 < n) total += in[k + 1];
#endif
    }
    out[i] = total;
    if (i == 0 &&
#ifdef DOUBLE
        total > 1.0 &&
#endif
        n > 2)
        out[0] = 1;
    i++;
    out[i] = total
#ifdef STRIDED
        + stride
#endif
        ;
}
