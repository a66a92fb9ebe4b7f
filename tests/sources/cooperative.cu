// Cooperative groups: blocks, tiles, partitions, votes, reductions by shuffle.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <class Group> __device__ int sum_over(Group group, int value)
{
    for (int offset = group.size() / 2; offset > 0; offset /= 2) value += group.shfl_down(value, offset);
    return value;
}

__global__ void cooperative(int *out, const int *in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    auto small = cg::tiled_partition<4>(tile);
    int i = block.thread_rank(), lane = tile.thread_rank();
    int value = i < n ? in[i] : 0;
    value = sum_over(tile, value);
    if (small.thread_rank() == 0) value += small.shfl(value, 1);
    block.sync();
    if (tile.any(value > 3) && lane == 0) {
        out[i / 32] = value;
        tile.sync();
    }
    unsigned votes = tile.ballot(value > 0);
    out[n] = votes + lane;
}
