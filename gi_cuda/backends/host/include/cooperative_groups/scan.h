// Stands for CUDA's header of this name in device code.
#pragma once
#include "../gi_groups.hpp"
#include "../gi_operators.hpp"

namespace cooperative_groups {

template <class Group, class T, class F>
static inline auto inclusive_scan(const Group &group, T &&value, F &&operation) -> decltype(operation(value, value)) {
  auto held = group.template gi_gathered<gi_plain<T>>(value);
  return held.scanned(held.self(), operation);
}
template <class Group, class T>
static inline gi_plain<T> inclusive_scan(const Group &group, T &&value) {
  return inclusive_scan(group, value, plus<gi_plain<T>>());
}
template <class Group, class T, class F>
static inline auto exclusive_scan(const Group &group, T &&value, F &&operation) -> decltype(operation(value, value)) {
  auto held = group.template gi_gathered<gi_plain<T>>(value);
  if (!held.self()) return {};
  return held.scanned(held.self() - 1, operation);
}
template <class Group, class T>
static inline gi_plain<T> exclusive_scan(const Group &group, T &&value) {
  return exclusive_scan(group, value, plus<gi_plain<T>>());
}

// A scan that goes on from what a place in memory holds, and leaves there what comes out.
template <class Group, class Atomic, class T, class F>
static inline auto inclusive_scan_update(const Group &group, Atomic &&atomic, T &&value, F &&operation)
    -> decltype(operation(value, value)) {
  auto own = inclusive_scan(group, value, operation);
  decltype(own) before = {};
  if (group.thread_rank() == group.size() - 1) before = gi_update(atomic, own, operation);
  return operation(group.shfl(before, int(group.size() - 1)), own);
}
template <class Group, class Atomic, class T>
static inline auto inclusive_scan_update(const Group &group, Atomic &&atomic, T &&value) {
  return inclusive_scan_update(group, atomic, value, plus<gi_plain<T>>());
}
template <class Group, class Atomic, class T, class F>
static inline auto exclusive_scan_update(const Group &group, Atomic &&atomic, T &&value, F &&operation)
    -> decltype(operation(value, value)) {
  auto held = group.template gi_gathered<gi_plain<T>>(value);
  auto copy = held;
  gi_plain<T> all = copy.scanned(held.count() - 1, operation), before = {};
  if (held.self() == held.count() - 1) before = gi_update(atomic, all, operation);
  before = group.shfl(before, int(held.count() - 1));
  if (!held.self()) return before;
  return operation(before, held.scanned(held.self() - 1, operation));
}
template <class Group, class Atomic, class T>
static inline auto exclusive_scan_update(const Group &group, Atomic &&atomic, T &&value) {
  return exclusive_scan_update(group, atomic, value, plus<gi_plain<T>>());
}

}  // namespace cooperative_groups
