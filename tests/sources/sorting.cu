// Bitonic sort and a radix pass: swaps by reference, ternaries, bit tricks, templates of order.
template <class T> __device__ void exchange(T &a, T &b) { T t = a; a = b; b = t; }
struct Less { __device__ bool operator()(unsigned a, unsigned b) const { return a < b; } };

template <class Order>
__device__ void compare(unsigned *keys, int *values, int i, int j, bool up, Order order)
{
    if (order(keys[j], keys[i]) == up) {
        exchange(keys[i], keys[j]);
        exchange(values[i], values[j]);
    }
}

__global__ void sorting(unsigned *keys, int *values, int n)
{
    __shared__ unsigned local[256];
    __shared__ int index[256];
    int t = threadIdx.x;
    local[t] = t < n ? keys[t] : 0xffffffffu;
    index[t] = values[t];
    for (int size = 2; size <= 256; size <<= 1) {
        bool up = (t & size) == 0;
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            __syncthreads();
            int partner = t ^ stride;
            if (partner > t) compare(local, index, t, partner, up, Less());
        }
    }
    __syncthreads();
    unsigned digit = (local[t] >> 4) & 15u, rank = 0;
    for (int k = 0; k < t; k++) rank += ((local[k] >> 4) & 15u) == digit ? 1 : 0;
    keys[t] = local[t];
    values[t] = index[t] + (int)rank;
}
