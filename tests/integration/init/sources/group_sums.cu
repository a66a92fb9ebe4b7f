// Sums of blocks by tiles, and of the whole by a barrier of the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void group_sums(const float *in, float *sums, float *out, int n)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    __shared__ float parts[32];
    float value = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) value += in[i];
    value = cg::reduce(tile, value, cg::plus<float>());
    if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = value;
    block.sync();
    if (block.thread_rank() == 0) {
        float sum = 0;
        for (int i = 0; i < tile.meta_group_size(); ++i) sum += parts[i];
        sums[blockIdx.x] = sum;
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += sums[i];
        out[0] = sum;
    }
}

int main()
{
    int n = 1 << 20, blocks = 16;
    std::vector<float> values(n, 1.0f);
    float *in, *sums, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&sums, blocks * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemcpy(in, values.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    void *arguments[] = {&in, &sums, &out, &n};
    cudaLaunchCooperativeKernel((void *)group_sums, dim3(blocks), dim3(128), arguments);
    cudaDeviceSynchronize();
    return 0;
}
