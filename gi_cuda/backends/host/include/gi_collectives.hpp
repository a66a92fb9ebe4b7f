// What the threads of a group exchange: values of any size, by lane or by rank.
#pragma once

#include "gi_warp.hpp"

template <class T>
struct gi_plain_type {
  typedef T type;
};
template <class T>
struct gi_plain_type<T &> : gi_plain_type<T> {};
template <class T>
struct gi_plain_type<T &&> : gi_plain_type<T> {};
template <class T>
struct gi_plain_type<const T> : gi_plain_type<T> {};
template <class T>
struct gi_plain_type<volatile T> : gi_plain_type<T> {};
template <class T>
struct gi_plain_type<const volatile T> : gi_plain_type<T> {};
template <class T>
using gi_plain = typename gi_plain_type<T>::type;

// The lane of a mask's n-th bit, from 0; beyond the last bit, the calling thread's own.
static inline unsigned gi_nth_lane(unsigned mask, unsigned n) {
  if (n >= unsigned(__builtin_popcount(mask))) return gi_lane();
  while (n--) mask &= mask - 1;
  return unsigned(__builtin_ctz(mask));
}

// The bits of a word that a mask names, side by side.
static inline unsigned gi_packed(unsigned mask, unsigned word) {
  unsigned packed = 0;
  for (unsigned rank = 0; mask; mask &= mask - 1) packed |= (word >> __builtin_ctz(mask) & 1) << rank++;
  return packed;
}

// A value as words of 8 bytes.
template <class T>
struct gi_words {
  static constexpr unsigned count = (sizeof(T) + 7) / 8;
  static_assert(__is_trivially_copyable(T), "what threads exchange is copied byte by byte");
  uint64_t words[count] = {};
  explicit gi_words(const T &value) { __builtin_memcpy(words, &value, sizeof value); }
};

// A lane's value of any size, as a shuffle gives it.
template <class T>
static inline T gi_shuffle(unsigned mask, T value, unsigned lane) {
  gi_words<T> sent(value);
  for (uint64_t &word : sent.words) word = gi_masked_warp(GI_SHUFFLE, mask, word, lane);
  __builtin_memcpy(&value, sent.words, sizeof value);
  return value;
}

// What each of at most `Most` threads holds, by rank.
template <class T, unsigned Most>
class gi_held {
 public:
  gi_held(unsigned count, unsigned self) : count_(count), self_(self) {}

  // What lies in the table is read at once: who goes on before this thread may write to it.
  template <class Rank>
  void gather(unsigned mask, const T &value, Rank rank_of) {
    gi_words<T> own(value);
    for (unsigned i = 0; i < own.count; ++i) {
      const gi_table &table = gi_gather(mask, own.words[i]);
      for (unsigned rest = table.lanes[gi_lane()]; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        put(rank_of(lane), i, table.values[lane]);
      }
    }
  }
  void gather_wide(unsigned first, const T &value) {
    gi_words<T> own(value);
    for (unsigned i = 0; i < own.count; ++i) {
      const gi_table *tables = gi_meet(first, Most, own.words[i]) + first / 32;
      for (unsigned rank = 0; rank < Most; ++rank)
        if (tables[rank / 32].here >> rank % 32 & 1) put(rank, i, tables[rank / 32].values[rank % 32]);
    }
  }

  T operator[](unsigned rank) const {
    T value;
    __builtin_memcpy(&value, bytes_ + rank * kStride, sizeof value);
    return value;
  }
  bool any() const {
    for (unsigned rank = 0; rank < count_; ++rank)
      if (here_[rank] && (*this)[rank]) return true;
    return false;
  }

  // As a device does it: halves of warps first, and so on; then warps. Threads that are not there do not count.
  template <class Operator>
  T reduced(Operator &&operation) {
    unsigned gone = 0;
    auto fold = [&](unsigned distance) {
      for (unsigned i = 0; i < count_; ++i) {
        if (i & (gone | distance)) continue;
        unsigned one = self_ ^ i, other = one ^ distance;
        if (here_[one] && here_[other])
          set(one, operation((*this)[one], (*this)[other]));
        else if (here_[other])
          set(one, (*this)[other]);
      }
      gone |= distance;
    };
    for (unsigned distance = count_ < 32 ? count_ / 2 : 16; distance; distance /= 2) fold(distance);
    for (unsigned distance = count_ / 2; distance >= 32; distance /= 2) fold(distance);
    return (*this)[self_];
  }

  // Up to and with that rank, in the order in which a device adds up.
  template <class Operator>
  T scanned(unsigned last, Operator &&operation) {
    for (unsigned distance = 1; distance < count_; distance *= 2)
      for (unsigned rank = last; rank >= distance; --rank)
        set(rank, operation((*this)[rank], (*this)[rank - distance]));
    return (*this)[last];
  }

  unsigned count() const { return count_; }
  unsigned self() const { return self_; }

 private:
  static constexpr unsigned kStride = 8 * gi_words<T>::count;
  void put(unsigned rank, unsigned word, uint64_t bits) {
    __builtin_memcpy(bytes_ + rank * kStride + 8 * word, &bits, 8);
    here_[rank] = true;
  }
  void set(unsigned rank, const T &value) {
    __builtin_memcpy(bytes_ + rank * kStride, &value, sizeof value);
    here_[rank] = true;
  }

  unsigned count_, self_;
  bool here_[Most] = {};
  alignas(8) unsigned char bytes_[Most * kStride] = {};
};
