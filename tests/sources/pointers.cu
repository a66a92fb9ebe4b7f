// Pointers and their pointee types: const, void, to pointers, arithmetic, casts, to functions.
typedef float (*operation)(float, float);
__device__ float plus(float a, float b) { float c = a; c += b; return c; }
__device__ float minus(float a, float b) { float c = a; c -= b; return c; }
__device__ long distance(const char *from, const char *to) { long d = to - from; return d; }
__device__ const float *later(const float *a, const float *b) { return a < b ? b : a; }

__global__ void pointers(float *out, const float *in, char *text, void *raw, int **table, int n)
{
    const float *cursor = in, *end = in + n;
    float *const base = out;
    int *counts = (int *)raw;
    unsigned *bits = reinterpret_cast<unsigned *>(out);
    const char *letters = text;
    volatile int *flag = table[0];
    operation combine = n > 3 ? plus : minus;
    double *wide = static_cast<double *>(raw);
    while (cursor < end) {
        *out++ = *cursor++;
        counts[0]++;
    }
    cursor = later(in, end - 1);
    base[0] = combine(cursor[0], *(in + 1));
    if (letters != text || !counts) text[1] = letters[0];
    counts[1] = (int)distance(letters, text + n);
    *(table[1] + 2) = counts[1];
    **table = 3;
    *flag = n;
    bits[0] |= 1u;
    wide[0] = base[0];
    letters++;
    if (*letters) { --text; out = base + 1; }
    out[0] = &counts[2] - counts;
}
