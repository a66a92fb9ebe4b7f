// using and typedef: types, functions, members, templates of types, in functions and outside.
typedef float real;
typedef unsigned char byte_t, *bytes_t;
typedef struct { int lo, hi; } range_t;
typedef struct Node { int value; struct Node *next; } Node;
using index_t = int;
template <class T> using pointer_to = T *;
namespace tools { __device__ int twice(int x) { int y = x; y += x; return y; } typedef long wide; }
using tools::twice;
using namespace tools;

__global__ void using_names(real *out, bytes_t bytes, range_t range, Node *nodes)
{
    typedef short small_t;
    using counts_t = int[4];
    index_t i = threadIdx.x;
    small_t small = bytes[i];
    counts_t counts = {0, 0, 0, 0};
    pointer_to<real> target = out;
    wide total = range.hi - range.lo;
    byte_t first = bytes[0];
    counts[i & 3] = twice(small);
    Node *node = nodes;
    while (node->next) { total += node->value; node = node->next; }
    if (first > small) target[i] = counts[0] + (real)total;
    out[i] = target[i] * real(2);
    bytes[i] = first;
}
