// Doubles an array, and has a last element of its own where there is an odd number of them: a target
// for tests.
#define BLOCK 64

__device__ int last(const int *in, int n) {
    int found = in[n - 1] * 2;
    for (int i = 0; i < 2; i++)
        found += i;
    return found - 1;
}

__global__ void even(const int *in, int *out, int n) {
    __shared__ int tile[BLOCK];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    int waste = 0;
    tile[threadIdx.x] = 1;
    __syncthreads();
    for (int i = 0; i < 80; i++)
        waste += tile[i % BLOCK] / (i + 1);
    if (waste > 1000)
        out[at] = waste;
    if (at < n) {
        if (n % 2 != 0 && at == n - 1) {
            int odd = last(in, n);
            for (int i = 0; i < 3; i++)
                out[at] = odd + i - 2;
        } else {
            out[at] = in[at] * 2;
        }
    }
}
