// Just enough of cooperative groups for a host compiler to check the test sources.
#pragma once
namespace cooperative_groups {
struct thread_block {
    int thread_rank() const;
    int size() const;
    void sync() const;
};
template <int N> struct thread_block_tile : thread_block {
    int any(int) const;
    int all(int) const;
    unsigned ballot(int) const;
    template <class T> T shfl(T, int) const;
    template <class T> T shfl_down(T, unsigned) const;
};
thread_block this_thread_block();
template <int N, class Parent> thread_block_tile<N> tiled_partition(const Parent &);
}
