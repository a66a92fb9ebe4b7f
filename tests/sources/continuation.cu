// Line continuations, raw strings, spliced words, trigraph look-alikes.
#define LONG_MACRO(a, b) \
    ((a) + \
     (b))
__device__ int length_of(const char *s) { int n = 0; while (s[n]) n++; return n; }
__global__ void continuation(int *out, const int *in, int n)
{
    int i = thread\
Idx.x;
    out[i] = in[i] + \
        LONG_MACRO(i, n);
    // a comment that goes on \
    out[i] = 99;
    const char *raw = R"(not } a // "quote" \ { )";
    const char *tagged = R"tag(line one
#if 0
)" still inside
)tag";
    out[0] = length_of(raw);
    out[1] = length_of(tagged) + length_of("a \" b \
 c");
    if (raw[0] == '\\' || raw[1] == '\'' || raw[2] == '"') out[2] = 1;
    i += 2; \
    out[i] = i;
    for (int k = 0; \
         k < n; \
         k++) \
        out[k] = k;
}
