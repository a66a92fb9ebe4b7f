// cub's collectives of warps. They combine in the order in which cub's shuffles do.
#pragma once

#include "gi_collectives.hpp"
#include "gi_cub_operators.hpp"
#include "gi_functional.hpp"
#include "gi_groups.hpp"

namespace cub {

static inline unsigned LaneId() { return gi_lane(); }
static inline unsigned WarpId() { return cooperative_groups::gi_thread_number() / 32; }
static inline int RowMajorTid(int width, int height, int) {
  return int((threadIdx.z * unsigned(height) + threadIdx.y) * unsigned(width) + threadIdx.x);
}

// The lanes beside each other that do something together.
template <int Width>
struct gi_lanes {
  static_assert(Width >= 1 && Width <= 32, "a warp has 32 threads");
  unsigned self = gi_lane() % Width, first = gi_lane() - self, mask;
  gi_lanes() {
    unsigned warp = cooperative_groups::gi_thread_number() / 32 * 32;
    unsigned rest = cooperative_groups::gi_block_threads() - warp, here = rest < 32 ? rest : 32;
    mask = (~0u >> (32 - Width)) << first & ~0u >> (32 - here);
  }
  template <class T>
  T up(const T &value, unsigned delta) const {
    return gi_shuffle(mask, value, gi_lane() - (self < delta ? 0 : delta));
  }
  template <class T>
  T down(const T &value, unsigned delta) const {
    return gi_shuffle(mask, value, gi_lane() + (self + delta < Width ? delta : 0));
  }
  template <class T>
  T of(const T &value, unsigned lane) const {
    return gi_shuffle(mask, value, first + lane);
  }
};

template <class T, int Width = 32, int = 0>
class WarpReduce {
 public:
  struct TempStorage {};
  explicit WarpReduce(TempStorage &) {}

  template <class Operation>
  T Reduce(T input, Operation operation) {
    return Reduce(input, operation, Width);
  }
  // What the first thread gets is what the first `valid` have together.
  template <class Operation>
  T Reduce(T input, Operation operation, int valid) {
    gi_lanes<Width> lanes;
    for (unsigned offset = 1; offset < Width; offset *= 2) {
      T other = lanes.down(input, offset);
      if (lanes.self + offset < unsigned(valid)) input = operation(input, other);
    }
    return input;
  }
  T Sum(T input) { return Reduce(input, cub::Sum()); }
  T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
  T Max(T input) { return Reduce(input, cub::Max()); }
  T Min(T input) { return Reduce(input, cub::Min()); }
};

template <class T, int Width = 32, int = 0>
class WarpScan {
 public:
  struct TempStorage {};
  explicit WarpScan(TempStorage &) {}

  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation) {
    gi_lanes<Width> lanes;
    for (unsigned offset = 1; offset < Width; offset *= 2) {
      T before = lanes.up(input, offset);
      if (lanes.self >= offset) input = operation(before, input);
    }
    output = input;
  }
  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &aggregate) {
    InclusiveScan(input, output, operation);
    aggregate = gi_lanes<Width>().of(output, Width - 1);
  }
  // Without a first value, what the first thread gets is undefined on a device; it is its own here.
  template <class Operation>
  void Scan(T input, T &inclusive, T &exclusive, Operation operation) {
    InclusiveScan(input, inclusive, operation);
    exclusive = gi_lanes<Width>().up(inclusive, 1);
  }
  template <class Operation>
  void Scan(T input, T &inclusive, T &exclusive, T initial, Operation operation) {
    Scan(input, inclusive, exclusive, operation);
    inclusive = operation(initial, inclusive);
    exclusive = gi_lanes<Width>().self ? operation(initial, exclusive) : initial;
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, Operation operation) {
    T inclusive;
    Scan(input, inclusive, output, operation);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation) {
    T inclusive;
    Scan(input, inclusive, output, initial, operation);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, Operation operation, T &aggregate) {
    T inclusive;
    Scan(input, inclusive, output, operation);
    aggregate = gi_lanes<Width>().of(inclusive, Width - 1);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, T &aggregate) {
    ExclusiveScan(input, output, operation, aggregate);
    output = gi_lanes<Width>().self ? operation(initial, output) : initial;
  }
  void InclusiveSum(T input, T &output) { InclusiveScan(input, output, Sum()); }
  void InclusiveSum(T input, T &output, T &aggregate) { InclusiveScan(input, output, Sum(), aggregate); }
  void ExclusiveSum(T input, T &output) { ExclusiveScan(input, output, T(0), Sum()); }
  void ExclusiveSum(T input, T &output, T &aggregate) { ExclusiveScan(input, output, T(0), Sum(), aggregate); }
  T Broadcast(T input, unsigned lane) { return gi_lanes<Width>().of(input, lane); }
};

}  // namespace cub
