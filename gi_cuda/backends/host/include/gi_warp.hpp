// Warp functions, votes and barriers.
#pragma once

#include "gi_runtime.hpp"

static inline void __syncthreads() { gi_barrier(false); }
static inline int __syncthreads_count(int predicate) { return int(gi_barrier(predicate != 0).yes); }
static inline int __syncthreads_or(int predicate) { return gi_barrier(predicate != 0).yes != 0; }
static inline int __syncthreads_and(int predicate) {
  gi_votes votes = gi_barrier(predicate != 0);
  return votes.yes == votes.all;
}

// A call with a mask, whose place in the code tells it from others. The line is asked for where the mask may leave out
// the thread itself, and nowhere else: lines in the code of all calls would make variants differ that are the same.
#define GI_INLINE static inline __attribute__((always_inline))
GI_INLINE uint64_t gi_masked_warp(gi_warp_function function, unsigned mask, uint64_t value, unsigned argument,
                                  unsigned line = 0) {
  if (!(__builtin_constant_p(mask) && mask == 0xffffffffu) && !(mask >> gi_lane() & 1)) mask = gi_left_out(mask, line);
  return gi_warp(function, mask, value, argument);
}

GI_INLINE void __syncwarp(unsigned mask = 0xffffffffu, unsigned line = __builtin_LINE()) {
  gi_masked_warp(GI_SYNC, mask, 0, 0, line);
}

template <class T>
static inline uint64_t gi_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp functions take values of at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
static inline T gi_from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Where a shuffle reads, as PTX defines it for shfl.idx, .up, .down and .bfly; `segment` is the first lane of the
// part of `width` lanes.
static inline unsigned gi_source(int lane, int width) {
  unsigned segment = gi_lane() & unsigned(-width);
  return segment | (unsigned(lane) & unsigned(width - 1));
}
static inline unsigned gi_source_up(unsigned delta, int width) {
  unsigned self = gi_lane(), segment = self & unsigned(-width), source = self - (delta & 31);
  return int(source) >= int(segment) ? source : self;
}
static inline unsigned gi_source_down(unsigned delta, int width) {
  unsigned self = gi_lane(), segment = self & unsigned(-width), source = self + (delta & 31);
  return source < segment + unsigned(width) ? source : self;
}
static inline unsigned gi_source_xor(int lanes, int width) {
  unsigned self = gi_lane(), segment = self & unsigned(-width), source = self ^ (unsigned(lanes) & 31);
  return source < segment + unsigned(width) ? source : self;
}

// The forms without a mask are about the threads that are at the same line together.
#define GI_SHUFFLES(name, source_of, how)                                                                  \
  template <class T>                                                                                       \
  GI_INLINE T name##_sync(unsigned mask, T value, how, int width = 32, unsigned line = __builtin_LINE()) { \
    return gi_from_bits<T>(gi_masked_warp(GI_SHUFFLE, mask, gi_bits(value), source_of(other, width), line)); \
  }                                                                                                        \
  template <class T>                                                                                       \
  static inline T name(T value, how, int width = 32, unsigned line = __builtin_LINE()) {                   \
    return gi_from_bits<T>(gi_warp(GI_SHUFFLE, 0, gi_bits(value), line * 32 + source_of(other, width))); \
  }

GI_SHUFFLES(__shfl, gi_source, int other)
GI_SHUFFLES(__shfl_up, gi_source_up, unsigned other)
GI_SHUFFLES(__shfl_down, gi_source_down, unsigned other)
GI_SHUFFLES(__shfl_xor, gi_source_xor, int other)

#undef GI_SHUFFLES

GI_INLINE unsigned __ballot_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return unsigned(gi_masked_warp(GI_BALLOT, mask, predicate != 0, 0, line));
}
GI_INLINE int __any_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return __ballot_sync(mask, predicate, line) != 0;
}
GI_INLINE int __all_sync(unsigned mask, int predicate, unsigned line = __builtin_LINE()) {
  return __ballot_sync(mask, !predicate, line) == 0;
}

static inline unsigned __ballot(int predicate, unsigned line = __builtin_LINE()) {
  return unsigned(gi_warp(GI_BALLOT, 0, predicate != 0, line * 32));
}
static inline int __any(int predicate, unsigned line = __builtin_LINE()) { return __ballot(predicate, line) != 0; }
static inline int __all(int predicate, unsigned line = __builtin_LINE()) { return __ballot(!predicate, line) == 0; }
static inline unsigned __activemask(unsigned line = __builtin_LINE()) { return __ballot(1, line); }

template <class T>
GI_INLINE unsigned __match_any_sync(unsigned mask, T value, unsigned line = __builtin_LINE()) {
  return unsigned(gi_masked_warp(GI_MATCH_ANY, mask, gi_bits(value), 0, line));
}
template <class T>
GI_INLINE unsigned __match_all_sync(unsigned mask, T value, int *all_equal, unsigned line = __builtin_LINE()) {
  unsigned same = __match_any_sync(mask, value, line);
  *all_equal = __all_sync(mask, same == (same | __ballot_sync(mask, 1, line)), line);
  return *all_equal ? same : 0;
}

#define GI_REDUCE(name, type, function)                                                        \
  GI_INLINE type name(unsigned mask, type value, unsigned line = __builtin_LINE()) {      \
    return type(gi_masked_warp(function, mask, unsigned(value), 0, line));                    \
  }
GI_REDUCE(__reduce_add_sync, int, GI_ADD)
GI_REDUCE(__reduce_add_sync, unsigned, GI_ADD)
GI_REDUCE(__reduce_min_sync, int, GI_MIN_SIGNED)
GI_REDUCE(__reduce_min_sync, unsigned, GI_MIN_UNSIGNED)
GI_REDUCE(__reduce_max_sync, int, GI_MAX_SIGNED)
GI_REDUCE(__reduce_max_sync, unsigned, GI_MAX_UNSIGNED)
GI_REDUCE(__reduce_and_sync, unsigned, GI_AND)
GI_REDUCE(__reduce_or_sync, unsigned, GI_OR)
GI_REDUCE(__reduce_xor_sync, unsigned, GI_XOR)
#undef GI_REDUCE

// What the lanes of a mask hold. To be read before this thread waits again.
GI_INLINE const gi_table &gi_gather(unsigned mask, uint64_t value) {
  return *reinterpret_cast<const gi_table *>(gi_masked_warp(GI_GATHER, mask, value, 0));
}

static inline void __nanosleep(unsigned) { gi_yield(); }
#ifdef __SANITIZE_THREAD__
static inline void __threadfence() { gi_fence(GI_DEVICE); }
static inline void __threadfence_block() { gi_fence(GI_BLOCK); }
static inline void __threadfence_system() { gi_fence(GI_DEVICE); }
#else
static inline void __threadfence() { __asm__ volatile("" ::: "memory"); }
static inline void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
static inline void __threadfence_system() { __asm__ volatile("" ::: "memory"); }
#endif
