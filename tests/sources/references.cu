// References: parameters, const, to elements and members, to pointers, returned.
struct State { int low, high; };
__device__ void order(int &a, int &b) { if (a > b) { int t = a; a = b; b = t; } }
__device__ int span_of(const State &state, const int &bias) { int width = state.high - state.low; width += bias; return width; }
__device__ int &larger(int &a, int &b) { return a > b ? a : b; }
__device__ void advance(const int *&p, int by) { p += by; }
__device__ int sum3(const int (&three)[3]) { int s = three[0]; s += three[1] + three[2]; return s; }

__global__ void references(int *out, const int *in, int n)
{
    int i = threadIdx.x, j = n - 1 - i;
    int three[3] = {i, j, n};
    State state;
    int &low = state.low, &high = state.high;
    const int &fixed = in[i];
    const int *walk = in;
    low = i;
    high = j;
    order(low, high);
    order(three[0], three[2]);
    advance(walk, low);
    larger(i, j) = fixed;
    int &slot = out[i];
    slot = span_of(state, fixed) + *walk;
    slot += sum3(three);
    for (int &item : three) item += slot;
    out[n - 1] = three[1];
}
