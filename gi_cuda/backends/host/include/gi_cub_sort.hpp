// cub's collectives of blocks that sort and count. The first thread sorts for all: how long that
// takes says nothing of a device.
#pragma once

#include "gi_cub_block.hpp"

namespace cub {

struct NullType {};

enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

// A number that is in the order of keys, of their bits from `begin` to `end`.
template <class Key>
static inline unsigned long long gi_radix(const Key &key, int begin, int end) {
  const unsigned long long sign = 1ull << (8 * sizeof(Key) - 1), all = sign | (sign - 1);
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &key, sizeof(Key));
  const bool is_whole = Key(0.5f) == Key(0), is_signed = Key(-1) < Key(0);
  if (!is_whole)
    bits = bits == sign ? sign : bits & sign ? ~bits & all : bits | sign;  // both zeros are one key
  else if (is_signed)
    bits ^= sign;
  bits >>= begin;
  return end - begin < 64 ? bits & ((1ull << (end - begin)) - 1) : bits;
}

template <class Key, int X, int Items, class Value = NullType, int = 4, bool = true,
          BlockScanAlgorithm = BLOCK_SCAN_WARP_SCANS, int = 0, int Y = 1, int Z = 1, int = 0>
class BlockRadixSort {
  typedef gi_block<X, Y, Z> Block;
  typedef gi_arrangement<false> Blocked;
  typedef gi_arrangement<true> Striped;
  static constexpr int kCount = Block::kThreads * Items, kBits = 8 * sizeof(Key);
  static_assert(kCount <= 1 << 16, "more items than are sorted at once");

 public:
  struct TempStorage {
    union {
      gi_stored<Key, kCount> keys;
      gi_stored<Value, kCount> values;
    };
    unsigned short order[kCount], spare[kCount];
  };
  explicit BlockRadixSort(TempStorage &stored) : stored_(stored) {}

  void Sort(Key (&keys)[Items], int begin = 0, int end = kBits) { sort<Blocked, false>(keys, begin, end); }
  void Sort(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits) {
    sort<Blocked, false>(keys, begin, end);
    follow<Blocked>(values);
  }
  void SortDescending(Key (&keys)[Items], int begin = 0, int end = kBits) { sort<Blocked, true>(keys, begin, end); }
  void SortDescending(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits) {
    sort<Blocked, true>(keys, begin, end);
    follow<Blocked>(values);
  }
  void SortBlockedToStriped(Key (&keys)[Items], int begin = 0, int end = kBits) {
    sort<Striped, false>(keys, begin, end);
  }
  void SortBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits) {
    sort<Striped, false>(keys, begin, end);
    follow<Striped>(values);
  }
  void SortDescendingBlockedToStriped(Key (&keys)[Items], int begin = 0, int end = kBits) {
    sort<Striped, true>(keys, begin, end);
  }
  void SortDescendingBlockedToStriped(Key (&keys)[Items], Value (&values)[Items], int begin = 0, int end = kBits) {
    sort<Striped, true>(keys, begin, end);
    follow<Striped>(values);
  }

 private:
  template <class Arrangement, bool Descending>
  void sort(Key (&keys)[Items], int begin, int end) {
    exchanged(stored_.keys, keys);
    if (Block().thread == 0) {
      for (int i = 0; i < kCount; ++i) stored_.order[i] = (unsigned short)i;
      for (int length = 1; length < kCount; length *= 2) {
        for (int from = 0; from < kCount; from += 2 * length) merge<Descending>(from, length, begin, end);
        for (int i = 0; i < kCount; ++i) stored_.order[i] = stored_.spare[i];
      }
    }
    __syncthreads();
    taken<Arrangement>(stored_.keys, keys);
  }
  // Equal keys stay in their order.
  template <bool Descending>
  void merge(int from, int length, int begin, int end) {
    int middle = from + length < kCount ? from + length : kCount;
    int stop = from + 2 * length < kCount ? from + 2 * length : kCount;
    for (int a = from, b = middle, to = from; to < stop; ++to) {
      bool second = a == middle;
      if (a < middle && b < stop) {
        auto first = gi_radix(stored_.keys[stored_.order[a]], begin, end);
        auto other = gi_radix(stored_.keys[stored_.order[b]], begin, end);
        second = Descending ? other > first : other < first;
      }
      stored_.spare[to] = stored_.order[second ? b++ : a++];
    }
  }
  template <class Arrangement>
  void follow(Value (&values)[Items]) {
    __syncthreads();
    exchanged(stored_.values, values);
    taken<Arrangement>(stored_.values, values);
  }
  template <class Stored, class T>
  void exchanged(Stored &stored, T (&items)[Items]) {
    Block at;
    for (int i = 0; i < Items; ++i) stored[Blocked::place(at.thread, Block::kThreads, Items, i)] = items[i];
    __syncthreads();
  }
  template <class Arrangement, class Stored, class T>
  void taken(Stored &stored, T (&items)[Items]) {
    Block at;
    for (int i = 0; i < Items; ++i)
      items[i] = stored[stored_.order[Arrangement::place(at.thread, Block::kThreads, Items, i)]];
  }

  TempStorage &stored_;
};

template <class T, int X, int Items, int Bins, BlockHistogramAlgorithm = BLOCK_HISTO_SORT, int Y = 1, int Z = 1, int = 0>
class BlockHistogram {
  typedef gi_block<X, Y, Z> Block;

 public:
  typedef gi_nothing_stored TempStorage;
  BlockHistogram() {}
  explicit BlockHistogram(TempStorage &) {}

  template <class Counter>
  void InitHistogram(Counter *counts) {
    for (int bin = Block().thread; bin < Bins; bin += Block::kThreads) counts[bin] = 0;
  }
  template <class Counter>
  void Composite(T (&items)[Items], Counter *counts) {
    for (const T &item : items) atomicAdd(counts + int(item), Counter(1));
  }
  template <class Counter>
  void Histogram(T (&items)[Items], Counter *counts) {
    InitHistogram(counts);
    __syncthreads();
    Composite(items, counts);
  }
};

}  // namespace cub
