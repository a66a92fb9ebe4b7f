// Shadowing: of parameters, globals, functions, types, in blocks, loops, conditions and lambdas.
__device__ int size = 5;
__device__ int scale(int x) { int size = x; size *= 2; return size; }
struct item { int size; };

__global__ void shadowing(int *out, const int *in, int n)
{
    int i = threadIdx.x;
    out[i] = size + scale(i);
    {
        float n = 0.5f;
        float i = n * 2.0f;
        out[0] = (int)i;
        n += i;
    }
    for (int i = 0; i < n; i++) {
        const int *out = in + i;
        int size = out[0];
        size++;
        { int size = 3, n = size; n++; i += size; }
        i += size & 1;
    }
    if (int n = in[0]) { int scale = n; scale++; out[n & 3] = scale; }
    int size = i;
    struct item item;
    item.size = size;
    auto twice = [](int i) { int n = i; return n * 2; };
    size = twice(item.size);
    unsigned in_ = size;
    { double size = 1.0; size += in_; out[1] = (int)size; }
    out[n] = size;
}
