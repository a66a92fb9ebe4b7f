// Fibres, the queues they stand in, and what warp functions exchange between them.
#pragma once

#include "internal.hpp"

namespace gi {

struct Fibre {
  void *stack_pointer;
  Fibre *next;  // in the one list where it stands: idle, ready, or at the barrier

  // The thread that it carries while it waits, and what that thread waits for in its warp.
  gi_index thread;
  unsigned number;
  gi_warp_function function;
  unsigned mask;
  unsigned argument;  // the source lane of a shuffle; above its five bits, the line of a call without a mask
  uint64_t value, result;
  const void *place;  // in the code; known only where masks are taken as devices take them
};

struct Queue {
  Fibre *first = nullptr, *last = nullptr;

  void push(Fibre *fibre) {
    fibre->next = nullptr;
    (first ? last->next : first) = fibre;
    last = fibre;
  }
  Fibre *pop() {
    Fibre *fibre = first;
    if (fibre) first = fibre->next;
    return fibre;
  }
  void append(Queue &other) {
    if (!other.first) return;
    (first ? last->next : first) = other.first;
    last = other.last;
    other.first = nullptr;
  }
};

struct Warp {
  unsigned live;     // lanes that have not exited
  unsigned waiting;  // lanes that wait in a warp function
  Fibre *lanes[32];
  gi_table table;
};

constexpr uint64_t kPoison = uint64_t(GI_UNSET) << 32 | GI_UNSET;

inline uint64_t reduce(gi_warp_function function, uint64_t left, uint64_t right) {
  unsigned a = unsigned(left), b = unsigned(right);
  switch (function) {
    case GI_ADD: return a + b;
    case GI_MIN_SIGNED: return int(a) < int(b) ? a : b;
    case GI_MAX_SIGNED: return int(a) > int(b) ? a : b;
    case GI_MIN_UNSIGNED: return a < b ? a : b;
    case GI_MAX_UNSIGNED: return a > b ? a : b;
    case GI_AND: return a & b;
    case GI_OR: return a | b;
    default: return a ^ b;
  }
}

template <class Visit>
inline void each_lane(unsigned lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(unsigned(__builtin_ctz(lanes)));
}

// Gives each lane of the group its result. All at once, so that nobody's value is gone when another one reads it.
inline void exchange(Warp &warp, unsigned group) {
  Fibre **lanes = warp.lanes;
  gi_warp_function function = lanes[__builtin_ctz(group)]->function;
  switch (function) {
    case GI_SYNC: break;
    case GI_SHUFFLE:
      // What a lane outside the group would send is undefined on the device.
      each_lane(group, [&](unsigned lane) {
        unsigned source = lanes[lane]->argument % 32;
        lanes[lane]->result = group >> source & 1 ? lanes[source]->value : kPoison;
      });
      break;
    case GI_BALLOT: {
      unsigned ballot = 0;
      each_lane(group, [&](unsigned lane) { ballot |= unsigned(lanes[lane]->value != 0) << lane; });
      each_lane(group, [&](unsigned lane) { lanes[lane]->result = ballot; });
      break;
    }
    case GI_MATCH_ANY:
      each_lane(group, [&](unsigned lane) {
        unsigned same = 0;
        each_lane(group, [&](unsigned other) {
          same |= unsigned(lanes[lane]->value == lanes[other]->value) << other;
        });
        lanes[lane]->result = same;
      });
      break;
    case GI_GATHER:
      each_lane(group, [&](unsigned lane) {
        warp.table.values[lane] = lanes[lane]->value;
        warp.table.lanes[lane] = group;
        lanes[lane]->result = reinterpret_cast<uint64_t>(&warp.table);
      });
      break;
    default: {
      unsigned first = __builtin_ctz(group);
      uint64_t total = lanes[first]->value;
      each_lane(group & (group - 1),
                [&](unsigned lane) { total = reduce(function, total, lanes[lane]->value); });
      each_lane(group, [&](unsigned lane) { lanes[lane]->result = total; });
    }
  }
  warp.waiting &= ~group;
}

inline bool same_call(const Fibre &a, const Fibre &b) { return a.function == b.function && a.mask == b.mask; }

// The threads that the waiting lane's call is about, once all of them wait in it; else 0. Exited ones do not count.
inline unsigned complete_group(const Warp &warp, unsigned lane) {
  const Fibre &call = *warp.lanes[lane];
  unsigned group = call.mask & warp.live;
  if (!group || group & ~warp.waiting) return 0;
  for (unsigned rest = group; rest; rest &= rest - 1)
    if (!same_call(call, *warp.lanes[__builtin_ctz(rest)])) return 0;
  return group;
}

// As devices do it: threads that are at the same place together, whatever their masks say. That those come together whom
// a mask names, is seen to first. Of a warp all of whose threads wait, or where nobody else can go on.
inline unsigned group_of_place(const Warp &warp) {
  unsigned any = 0, found = 0;
  each_lane(warp.waiting, [&](unsigned lane) {
    if (found) return;
    const Fibre &call = *warp.lanes[lane];
    unsigned group = 0, named = 0;
    each_lane(warp.waiting, [&](unsigned other) {
      const Fibre &one = *warp.lanes[other];
      bool here = call.mask ? call.place == one.place || call.mask == one.mask : call.argument / 32 == one.argument / 32;
      if (one.function != call.function || !one.mask != !call.mask || !here) return;
      group |= 1u << other;
      named |= one.mask;
    });
    if (!any) any = group;
    if (!(named & warp.live & ~group)) found = group;
  });
  return found ? found : any;
}

}  // namespace gi
