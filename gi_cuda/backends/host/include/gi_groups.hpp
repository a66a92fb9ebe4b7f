// CUDA's cooperative groups. A group within a warp is a mask of lanes, and what its threads do together is a warp
// function; a tile of several warps is a range of threads of the block.
#pragma once

#include "gi_collectives.hpp"
#include "gi_cuda_host.hpp"

namespace cooperative_groups {

// Of a block, of a grid: numbers of threads and blocks, as if in one row.
static inline unsigned gi_block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
static inline unsigned gi_thread_number() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static inline unsigned long long gi_grid_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
static inline unsigned long long gi_block_number() {
  return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

enum gi_kind : unsigned char { GI_WARP_GROUP, GI_BLOCK_GROUP, GI_GRID_GROUP };

// Any group; all that those of a warp are made of.
class thread_group {
 public:
  inline unsigned long long size() const;
  inline unsigned long long num_threads() const;
  inline unsigned long long thread_rank() const;
  inline void sync() const;

  unsigned gi_mask() const { return mask_; }
  bool gi_in_warp() const { return kind_ == GI_WARP_GROUP; }
  bool gi_is_tile() const { return tile_; }

 protected:
  explicit thread_group(gi_kind kind) : kind_(kind) {}
  thread_group(unsigned mask, unsigned meta_rank, unsigned meta_size, bool tile)
      : mask_(mask), meta_rank_(meta_rank), meta_size_(meta_size), kind_(GI_WARP_GROUP), tile_(tile) {}

  unsigned mask_ = 0;
  unsigned meta_rank_ = 0, meta_size_ = 1;  // of this group among those it was made with
  gi_kind kind_;
  bool tile_ = false;
};

class grid_group : public thread_group {
 public:
  struct arrival_token {};
  grid_group() : thread_group(GI_GRID_GROUP) {}
  bool is_valid() const { return true; }
  static void sync() { gi_grid_barrier(); }
  arrival_token barrier_arrive() const { return {}; }
  void barrier_wait(arrival_token &&) const { sync(); }
  static unsigned long long size() { return gi_grid_blocks() * gi_block_threads(); }
  static unsigned long long num_threads() { return size(); }
  static unsigned long long thread_rank() { return gi_block_number() * gi_block_threads() + gi_thread_number(); }
  static unsigned long long num_blocks() { return gi_grid_blocks(); }
  static unsigned long long block_rank() { return gi_block_number(); }
  static dim3 group_dim() { return gridDim; }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 block_index() { return blockIdx; }
  static dim3 dim_threads() {
    return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y, gridDim.z * blockDim.z);
  }
  static dim3 thread_index() {
    return dim3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
                blockIdx.z * blockDim.z + threadIdx.z);
  }
};
static inline grid_group this_grid() { return grid_group(); }

// What tiles of several warps need on a device.
template <unsigned MostThreads = 1024>
struct block_tile_memory {
  unsigned char unused;
};

class thread_block : public thread_group {
 public:
  struct arrival_token {};
  thread_block() : thread_group(GI_BLOCK_GROUP) {}
  static void sync() { __syncthreads(); }
  arrival_token barrier_arrive() const { return {}; }
  void barrier_wait(arrival_token &&) const { sync(); }
  static unsigned size() { return gi_block_threads(); }
  static unsigned num_threads() { return size(); }
  static unsigned thread_rank() { return gi_thread_number(); }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
static inline thread_block this_thread_block() { return thread_block(); }
template <unsigned MostThreads>
static inline thread_block this_thread_block(block_tile_memory<MostThreads> &) {
  return thread_block();
}

// Threads of a warp that came together, or a part of them.
class coalesced_group : public thread_group {
 public:
  coalesced_group(unsigned mask, unsigned meta_rank, unsigned meta_size, bool tile = false)
      : thread_group(mask, meta_rank, meta_size, tile) {}
  unsigned size() const { return unsigned(__builtin_popcount(mask_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return unsigned(__builtin_popcount(mask_ & ((1u << gi_lane()) - 1))); }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }
  void sync() const { __syncwarp(mask_); }

  template <class T>
  T shfl(T value, int rank) const {
    return gi_shuffle(mask_, value, gi_nth_lane(mask_, unsigned(rank)));
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    unsigned self = thread_rank();
    return gi_shuffle(mask_, value, delta > self ? gi_lane() : gi_nth_lane(mask_, self - delta));
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    unsigned self = thread_rank();
    return gi_shuffle(mask_, value, delta >= size() - self ? gi_lane() : gi_nth_lane(mask_, self + delta));
  }
  int any(int predicate) const { return __any_sync(mask_, predicate); }
  int all(int predicate) const { return __all_sync(mask_, predicate); }
  unsigned ballot(int predicate) const { return gi_packed(mask_, __ballot_sync(mask_, predicate)); }
  template <class T>
  unsigned match_any(T value) const {
    return gi_packed(mask_, __match_any_sync(mask_, value));
  }
  template <class T>
  unsigned match_all(T value, int &equal) const {
    return gi_packed(mask_, __match_all_sync(mask_, value, &equal));
  }

  // What all hold, by rank.
  template <class T>
  gi_held<T, 32> gi_gathered(const T &value) const {
    gi_held<T, 32> held(size(), thread_rank());
    held.gather(mask_, value, [this](unsigned lane) { return unsigned(__builtin_popcount(mask_ & ((1u << lane) - 1))); });
    return held;
  }
};

// The threads that are at the same line together.
static inline coalesced_group coalesced_threads(unsigned line = __builtin_LINE()) {
  return coalesced_group(__activemask(line), 0, 1);
}

template <unsigned Size, class Parent = void>
class thread_block_tile : public thread_group {
  static_assert(Size && !(Size & (Size - 1)) && Size <= 1024, "the size of a tile is a power of two, at most 1024");
  static constexpr bool kWide = Size > 32;

 public:
  thread_block_tile(unsigned meta_rank, unsigned meta_size)
      : thread_group(kWide ? ~0u : (~0u >> (kWide ? 0 : 32 - Size)) << (gi_lane() & ~(Size - 1)), meta_rank, meta_size,
                     true) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other> &tile)
      : thread_block_tile(tile.meta_group_rank(), tile.meta_group_size()) {}

  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return (kWide ? gi_thread_number() : gi_lane()) & (Size - 1); }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }
  void sync() const {
    if constexpr (kWide)
      gi_meet(gi_begin(), Size, 0);
    else
      __syncwarp(mask_);
  }

  template <class T>
  T shfl(T value, int rank) const {
    if constexpr (kWide)
      return gi_gathered(value)[unsigned(rank) & (Size - 1)];
    else
      return gi_shuffle(mask_, value, gi_source(rank, Size));
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    gi_is_narrow();
    return gi_shuffle(mask_, value, gi_source_up(delta, Size));
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    gi_is_narrow();
    return gi_shuffle(mask_, value, gi_source_down(delta, Size));
  }
  template <class T>
  T shfl_xor(T value, unsigned lanes) const {
    gi_is_narrow();
    return gi_shuffle(mask_, value, gi_source_xor(int(lanes), Size));
  }
  int any(int predicate) const {
    if constexpr (kWide)
      return gi_gathered(predicate).any();
    else
      return __any_sync(mask_, predicate);
  }
  int all(int predicate) const {
    if constexpr (kWide)
      return !gi_gathered(int(!predicate)).any();
    else
      return __all_sync(mask_, predicate);
  }
  unsigned ballot(int predicate) const {
    gi_is_narrow();
    return __ballot_sync(mask_, predicate) >> gi_shift();
  }
  template <class T>
  unsigned match_any(T value) const {
    gi_is_narrow();
    return __match_any_sync(mask_, value) >> gi_shift();
  }
  template <class T>
  unsigned match_all(T value, int &equal) const {
    gi_is_narrow();
    return __match_all_sync(mask_, value, &equal) >> gi_shift();
  }

  // What all hold, by rank.
  template <class T>
  gi_held<T, Size> gi_gathered(const T &value) const {
    gi_held<T, Size> held(Size, thread_rank());
    if constexpr (kWide)
      held.gather_wide(gi_begin(), value);
    else
      held.gather(mask_, value, [](unsigned lane) { return lane & (Size - 1); });
    return held;
  }

 private:
  static unsigned gi_shift() { return gi_lane() & ~(Size - 1); }
  static unsigned gi_begin() { return gi_thread_number() & ~(Size - 1); }
  template <unsigned Threads = Size>
  static void gi_is_narrow() {
    static_assert(Threads <= 32, "tiles of more than 32 threads have shfl, any, all, sync and what reduces alone");
  }
};

template <unsigned Size>
static inline thread_block_tile<Size, thread_block> tiled_partition(const thread_block &) {
  return {gi_thread_number() / Size, (gi_block_threads() + Size - 1) / Size};
}
template <unsigned Size, unsigned ParentSize, class Grand>
static inline thread_block_tile<Size, thread_block_tile<ParentSize, Grand>> tiled_partition(
    const thread_block_tile<ParentSize, Grand> &parent) {
  static_assert(Size <= ParentSize, "a tile is no larger than what it is a tile of");
  return {parent.thread_rank() / Size, ParentSize / Size};
}
static inline thread_block_tile<1, void> this_thread() { return {0, 1}; }

// Tiles of a size that is known at run time.
static inline coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
  if (!size || size & (size - 1) || size > 32) __trap();
  if (parent.size() <= size) return parent;
  unsigned number = parent.thread_rank() / size, mask = 0;
  for (unsigned rank = number * size; rank < parent.size() && rank < (number + 1) * size; ++rank)
    mask |= 1u << gi_nth_lane(parent.gi_mask(), rank);
  return coalesced_group(mask, number, (parent.size() + size - 1) / size, parent.gi_is_tile());
}
static inline thread_group tiled_partition(const thread_block &, unsigned size) {
  if (!size || size & (size - 1) || size > 32) __trap();
  unsigned rest = gi_block_threads() - (gi_thread_number() & ~(size - 1)), lanes = rest < size ? rest : size;
  return coalesced_group((~0u >> (32 - lanes)) << (gi_lane() & ~(size - 1)), gi_thread_number() / size,
                         (gi_block_threads() + size - 1) / size, true);
}
static inline thread_group tiled_partition(const thread_group &parent, unsigned size) {
  if (!parent.gi_in_warp()) return tiled_partition(thread_block(), size);
  return tiled_partition(coalesced_group(parent.gi_mask(), 0, 1, parent.gi_is_tile()), size);
}

// The threads of a group that say the same.
template <class Group>
static inline coalesced_group binary_partition(const Group &group, bool predicate) {
  unsigned all = group.gi_mask() & __ballot_sync(group.gi_mask(), 1), yes = __ballot_sync(group.gi_mask(), predicate);
  if (yes == all || !yes) return coalesced_group(all, 0, 1);
  return coalesced_group(predicate ? yes : all & ~yes, predicate, 2);
}
template <class Group, class Label>
static inline coalesced_group labeled_partition(const Group &group, Label label) {
  unsigned same = __match_any_sync(group.gi_mask(), label);
  unsigned first = unsigned(__builtin_ctz(same)), firsts = __ballot_sync(group.gi_mask(), first == gi_lane());
  return coalesced_group(same, unsigned(__builtin_popcount(firsts & ((1u << first) - 1))),
                         unsigned(__builtin_popcount(firsts)));
}
template <class Group>
static inline coalesced_group labeled_partition(const Group &group, bool label) {
  return binary_partition(group, label);
}

unsigned long long thread_group::size() const {
  if (kind_ == GI_GRID_GROUP) return grid_group::size();
  return kind_ == GI_BLOCK_GROUP ? gi_block_threads() : unsigned(__builtin_popcount(mask_));
}
unsigned long long thread_group::num_threads() const { return size(); }
unsigned long long thread_group::thread_rank() const {
  if (kind_ == GI_GRID_GROUP) return grid_group::thread_rank();
  return kind_ == GI_BLOCK_GROUP ? gi_thread_number() : unsigned(__builtin_popcount(mask_ & ((1u << gi_lane()) - 1)));
}
void thread_group::sync() const {
  if (kind_ == GI_GRID_GROUP)
    grid_group::sync();
  else if (kind_ == GI_BLOCK_GROUP)
    thread_block::sync();
  else
    __syncwarp(mask_);
}

template <class Group>
static inline void sync(const Group &group) {
  group.sync();
}
template <class Group>
static inline auto thread_rank(const Group &group) -> decltype(group.thread_rank()) {
  return group.thread_rank();
}
template <class Group>
static inline auto group_size(const Group &group) -> decltype(group.num_threads()) {
  return group.num_threads();
}

template <class Group, class F, class... A>
static inline void invoke_one(const Group &group, F &&function, A &&...arguments) {
  if (group.thread_rank() == 0) static_cast<F &&>(function)(static_cast<A &&>(arguments)...);
}
template <class Group, class F, class... A>
static inline auto invoke_one_broadcast(const Group &group, F &&function, A &&...arguments)
    -> gi_plain<decltype(static_cast<F &&>(function)(static_cast<A &&>(arguments)...))> {
  gi_plain<decltype(static_cast<F &&>(function)(static_cast<A &&>(arguments)...))> result;
  if (group.thread_rank() == 0) result = static_cast<F &&>(function)(static_cast<A &&>(arguments)...);
  return group.shfl(result, 0);
}

struct cluster_group;
__attribute__((unavailable("the host back end has no clusters of blocks"))) cluster_group this_cluster();
class multi_grid_group;
__attribute__((unavailable("the host back end has one device, and no grid over several"))) multi_grid_group
this_multi_grid();

}  // namespace cooperative_groups
