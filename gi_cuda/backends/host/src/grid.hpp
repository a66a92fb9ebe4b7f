// Barriers of more than a warp and other than the block: of several warps, and of the whole launch.
#pragma once

#include <string.h>

#include <vector>

#include "warp.hpp"

namespace gi {

// Threads of several warps that wait for each other.
struct Meeting {
  unsigned first, count;  // threads of the block
  unsigned arrived;
  Queue queue;
};

// At most one for each two warps, if all tiles of a block wait.
struct Meetings {
  Meeting open[kMostThreads / 64];
  unsigned count = 0;
  gi_table tables[kMostThreads / 32];

  Meeting &of(unsigned first, unsigned threads) {
    for (Meeting *one = open; one < open + count; ++one)
      if (one->first == first && one->count == threads) return *one;
    if (count == kMostThreads / 64) end_launch(GI_DEADLOCK, "threads wait in tiles of several warps that overlap");
    open[count] = {first, threads, 0, Queue()};
    return open[count++];
  }

  // What its threads gave is in the tables; they are no longer in the meeting.
  Queue close(Meeting &one, const Warp *warps) {
    for (unsigned warp = one.first / 32; warp < (one.first + one.count + 31) / 32; ++warp)
      tables[warp].here = warps[warp].live;
    for (Fibre *fibre = one.queue.first; fibre; fibre = fibre->next)
      tables[fibre->number / 32].values[fibre->number % 32] = fibre->value;
    Queue released = one.queue;
    one = open[--count];
    return released;
  }
};

inline unsigned living(const Warp *warps, unsigned first, unsigned count) {
  unsigned found = 0;
  for (unsigned warp = first / 32; warp < (first + count + 31) / 32 && warp < kMostThreads / 32; ++warp)
    found += unsigned(__builtin_popcount(warps[warp].live));
  return found;
}

// A block that waits at the barrier of the grid, while others run where it ran.
struct Parked {
  gi_index block;
  unsigned live;
  unsigned lanes[kMostThreads / 32];
  Queue waiting;
  std::vector<unsigned char> fixed, dynamic;  // its shared memory

  void keep(const gi_kernel &kernel, unsigned char *dynamic_begin, size_t dynamic_bytes) {
    for (const gi_shared *one = kernel.shared; one < kernel.shared + kernel.shared_count; ++one)
      fixed.insert(fixed.end(), one->begin, one->begin + one->bytes);
    dynamic.assign(dynamic_begin, dynamic_begin + dynamic_bytes);
  }
  void put_back(const gi_kernel &kernel, unsigned char *dynamic_begin) const {
    const unsigned char *from = fixed.data();
    for (const gi_shared *one = kernel.shared; one < kernel.shared + kernel.shared_count; from += one++->bytes)
      memcpy(one->begin, from, one->bytes);
    if (!dynamic.empty()) memcpy(dynamic_begin, dynamic.data(), dynamic.size());
  }
};

}  // namespace gi
