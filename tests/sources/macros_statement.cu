// Macros that are statements, expressions, loops' heads, calls; with arguments of every kind.
#define SQUARE(x) ((x) * (x))
#define SWAP(type, a, b) do { type t_ = a; a = b; b = t_; } while (0)
#define ADD_TO(place, value) place += (value)
#define STORE(at, value) out[at] = value
#define CHECKED(call) if ((call) < 0) out[0] = -1
#define FOR_ALL(k, n) for (int k = 0; k < (n); ++k)
#define NOTHING
#define CONCAT(a, b) a##b
#define TEXT(x) #x
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define TWICE(statement) statement; statement
#define MAX_OF(a, b) \
    ((a) > (b) \
        ? (a) : (b))
__device__ int show(const char *text, int v) { int r = v; if (text[0] == 'x') r = 1; return r; }

__global__ void macros_statement(int *out, const int *in, int n)
{
    int i = INDEX, j = n - i, value1 = 3;
    if (i < n)
        SWAP(int, i, j);
    ADD_TO(j, SQUARE(i));
    STORE(i, MAX_OF(i, j));
    CHECKED(in[i]);
    NOTHING;
    FOR_ALL(k, n) { ADD_TO(out[k], in[k]); j += k; }
    FOR_ALL(k, 3) out[k]++;
    CONCAT(value, 1) = 4;
    out[1] = show(TEXT(i + j), CONCAT(value, 1));
    TWICE(j++);
    if (SQUARE(i) > MAX_OF(j, 2) && INDEX < n) j = SQUARE(in[0]);
    out[n] = j + value1;
}
