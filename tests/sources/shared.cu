// Shared memory: dynamic, static, of structs, carved into parts, volatile, aligned.
struct Entry { float value; int index; };

__global__ void shared(float *out, const float *in, int n)
{
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ float partial[32];
    __shared__ Entry best[32];
    __shared__ int count;
    __shared__ volatile int turn;
    float *values = (float *)memory;
    int *indices = reinterpret_cast<int *>(values + blockDim.x);
    int i = threadIdx.x, lane = i & 31, warp = i >> 5;
    if (i == 0) { count = 0; turn = 0; }
    values[i] = in[i];
    indices[i] = i;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (i < s && values[i + s] > values[i]) {
            values[i] = values[i + s];
            indices[i] = indices[i + s];
        }
        __syncthreads();
    }
    if (lane == 0) {
        partial[warp] = values[i];
        best[warp].value = values[0];
        best[warp].index = indices[0];
    }
    atomicAdd(&count, 1);
    turn = count;
    __syncthreads();
    if (i == 0) out[0] = best[0].value + partial[0];
    out[i] = values[indices[0]] + turn;
}
