// Stands for CUDA's header of this name in device code.
#pragma once
#include "../gi_groups.hpp"
#include "../gi_operators.hpp"

namespace cooperative_groups {

template <unsigned Size, class Parent, class T, class F>
static inline auto reduce(const thread_block_tile<Size, Parent> &tile, T &&value, F &&operation)
    -> decltype(operation(value, value)) {
  return tile.template gi_gathered<gi_plain<T>>(value).reduced(operation);
}
template <class T, class F>
static inline auto reduce(const coalesced_group &group, T &&value, F &&operation) -> decltype(operation(value, value)) {
  auto held = group.gi_gathered<gi_plain<T>>(value);
  return held.count() == 32 ? held.reduced(operation) : held.scanned(held.count() - 1, operation);
}

// What the threads of a group hold together goes to one place in memory.
template <class Group, class Atomic, class T, class F>
static inline void reduce_update_async(const Group &group, Atomic &&atomic, T &&value, F &&operation) {
  auto total = reduce(group, value, operation);
  if (group.thread_rank() == 0) gi_update(atomic, total, operation);
}
template <class Group, class Atomic, class T, class F>
static inline void reduce_store_async(const Group &group, Atomic &&atomic, T &&value, F &&operation) {
  auto total = reduce(group, value, operation);
  if (group.thread_rank() == 0) atomic.store(total);
}
template <class Group, class To, class T, class F>
static inline void reduce_store_async(const Group &group, To *to, T &&value, F &&operation) {
  auto total = reduce(group, value, operation);
  if (group.thread_rank() == 0) *to = total;
}

}  // namespace cooperative_groups
