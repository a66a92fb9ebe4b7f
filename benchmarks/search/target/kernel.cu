// Two small kernels that searches are compared on: no launch, the times are made up.

#ifndef BLOCK
#define BLOCK 128
#endif
#ifndef TILE
#define TILE 4
#endif

__device__ int weight(const int *weights, int near, int far)
{
    int sum = weights[near];
    if (far > near && weights[far] > 0) {
        sum += weights[far];
        sum -= weights[near] >> 1;
    }
    if (sum < 0)
        sum = 0;
    return sum;
}

__global__ void spread(const int *cells, const int *weights, int *out, int width, int height)
{
    __shared__ int row[BLOCK + 2];
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    int best = 0;
    int total = 0;
    if (x >= width)
        return;
    row[threadIdx.x + 1] = cells[y * width + x];
    if (threadIdx.x == 0) {
        row[0] = 0;
        if (x > 0)
            row[0] = cells[y * width + x - 1];
    }
    if (threadIdx.x == BLOCK - 1 || x == width - 1) {
        row[threadIdx.x + 2] = 0;
        if (x + 1 < width)
            row[threadIdx.x + 2] = cells[y * width + x + 1];
    }
    __syncthreads();
    for (int i = 0; i < 3; i++) {
        int cell = row[threadIdx.x + i];
        if (cell > best)
            best = cell;
        total += cell;
        total += weight(weights, i, cell & 15);
    }
    for (int j = 0; j < TILE; j++) {
        if (y + j < height && total > j) {
            best += weights[j & 15];
            total -= j;
        }
        if (best < 0)
            best = 0;
    }
    __syncthreads();
#ifdef CLAMP
    if (total > 255)
        total = 255;
#endif
    if (best > 0 && total > 0)
        total = total / best;
    out[y * width + x] = total;
    __threadfence();
}

__global__ void gather(const int *out, int *sums, int width, int height)
{
    __shared__ int part[BLOCK];
    int lane = threadIdx.x;
    int from = blockIdx.x * BLOCK * TILE;
    int most = width * height;
    int sum = 0;
    int seen = 0;
    for (int i = lane; i < BLOCK * TILE; i += BLOCK) {
        if (from + i >= most)
            break;
        int value = out[from + i];
        if (value < 0)
            value = 0;
        sum += value;
        seen += 1;
    }
    part[lane] = sum;
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (lane < step) {
            part[lane] += part[lane + step];
            seen += step;
        }
        __syncthreads();
    }
#ifdef CLAMP
    if (seen == 0)
        part[0] = 0;
#endif
    if (lane == 0 && part[0] != 0)
        atomicAdd(sums, part[0]);
    if (lane == 0)
        atomicMax(sums + 1, sum);
}
