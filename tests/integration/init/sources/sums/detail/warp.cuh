#pragma once

namespace sums {
namespace detail {

/// Sum over a warp; lane 0 has it.
template <typename T>
__device__ __forceinline__ T warp_sum(T value)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;
}

} // namespace detail
} // namespace sums
