// Templates: of functions and classes, with constants, specialised, variadic, dependent names.
template <class T> struct Traits { typedef float wide; static constexpr int size = 4; };
template <> struct Traits<int> { typedef double wide; static constexpr int size = 8; };
template <class T, int N> struct Stack {
    T items[N];
    int top;
    __device__ void push(T item) { if (top < N) items[top++] = item; }
    __device__ T pop() { return items[--top]; }
};
template <class T> __device__ T larger(T a, T b) { T c = a; if (b > a) c = b; return c; }
template <> __device__ int larger<int>(int a, int b) { int c = b; if (a > b) c = a; return c; }
template <class T> __device__ T sum_of(T last) { T s = last; return s; }
template <class T, class... Rest> __device__ T sum_of(T first, Rest... rest) { T s = first; s += sum_of(rest...); return s; }

template <class T, int WIDTH>
__global__ void templates(T *out, const T *in, int n)
{
    __shared__ T tile[WIDTH];
    typename Traits<T>::wide total = 0;
    Stack<T, WIDTH> stack;
    T mine = in[threadIdx.x], other = in[0];
    int i = threadIdx.x;
    stack.top = 0;
    tile[i % WIDTH] = mine;
    for (int k = 0; k < WIDTH && k < n; k++) {
        stack.push(tile[k]);
        total += larger<T>(mine, tile[k]);
    }
    other = larger(mine, other);
    mine = stack.pop();
    if (WIDTH > 8) out[i] = mine;
    else out[i] = other;
    out[n] = (T)total + sum_of(mine, other, tile[0]);
    i += Traits<T>::size;
    out[i] = tile[0];
}
template __global__ void templates<int, 16>(int *, const int *, int);
template __global__ void templates<float, 4>(float *, const float *, int);
