// In which order the blocks of a launch, and the threads of a block, go on. Repeated with the same seed, a schedule
// gives the same orders.
#pragma once

#include <algorithm>
#include <utility>

#include "internal.hpp"

namespace gi {

// xorshift64*.
class Random {
 public:
  explicit Random(uint64_t value = 0) { seed(value); }
  void seed(uint64_t value) { state_ = (value + 1) * 0x9e3779b97f4a7c15u | 1; }
  uint64_t next() {
    state_ ^= state_ >> 12, state_ ^= state_ << 25, state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du >> 16;
  }
  uint64_t below(uint64_t bound) { return next() % bound; }

 private:
  uint64_t state_ = 1;
};

inline uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

struct Schedule {
  gi_order order = GI_NATURAL;
  uint64_t seed = 0;
  Random random;

  // The blocks: the i-th to run is (stride * i + offset) % blocks. Of `whole` in all these are a sample, where they are
  // fewer: two neighbours in each of equal parts, the first and the last two among them.
  uint64_t blocks, begun, stride, offset, whole;
  uint64_t sample = 0;  // of a launch as many blocks run as have about so many threads; 0: all

  // The threads of a block: who goes i-th, and the place of each.
  unsigned size;
  unsigned turns[kMostThreads], places[kMostThreads];

  static constexpr uint64_t kFewestBlocks = 8;

  bool natural() const { return order == GI_NATURAL; }
  bool in_a_row() const { return natural() && blocks == whole; }

  void begin_launch(uint64_t number_of_blocks, unsigned threads) {
    whole = blocks = number_of_blocks, begun = 0, size = threads;
    uint64_t enough = sample ? std::max<uint64_t>(kFewestBlocks, sample / threads / 2 * 2) : blocks;
    if (2 * enough <= blocks) blocks = enough;
    random.seed(seed);
    stride = 1, offset = 0;
    if (order == GI_REVERSED || natural() || blocks < 2) return;
    do stride = 1 + random.below(blocks);
    while (common_divisor(stride, blocks) != 1);
    offset = random.below(blocks);
  }

  uint64_t next_block() {
    uint64_t i = begun++;
    if (order == GI_REVERSED) return sampled(blocks - 1 - i);
    return sampled(uint64_t(((unsigned __int128)stride * i + offset) % blocks));
  }

  void begin_block() {
    unsigned warps = (size + 31) / 32;
    switch (order) {
      case GI_NATURAL: return;
      case GI_REVERSED:
        for (unsigned i = 0; i < size; ++i) turns[i] = size - 1 - i;
        break;
      case GI_RANDOM: return shuffle();
      case GI_WARPS: {
        unsigned order_of_warps[kMostThreads / 32], filled = 0;
        for (unsigned i = 0; i < warps; ++i) order_of_warps[i] = i;
        permute(order_of_warps, warps);
        for (unsigned i = 0; i < warps; ++i) add_warp(order_of_warps[i], &filled);
        break;
      }
      case GI_AHEAD: {
        unsigned ahead = warps - 1 - unsigned(random.below((warps + 1) / 2)), filled = 0;
        add_warp(ahead, &filled);
        for (unsigned i = 0; i < warps; ++i)
          if (i != ahead) add_warp(i, &filled);
      }
    }
    place();
  }

  // Blocks that all waited: who is last in `turns` goes first.
  template <class Blocks>
  void put_in_turn(Blocks &waited, Blocks &turns) {
    while (!waited.empty()) {
      bool any = !natural() && order != GI_REVERSED;
      std::swap(waited.back(), waited[any ? random.below(waited.size()) : waited.size() - 1]);
      turns.push_back(std::move(waited.back()));
      waited.pop_back();
    }
  }

  // Between two barriers nobody needs to go on in the order of before.
  void after_barrier() {
    if (order == GI_RANDOM) shuffle();
  }

  // Whether somebody who has not begun goes before those who could go on.
  bool begins_another() { return order == GI_RANDOM && random.next() & 1; }

  // Whether threads of a warp that met go on at once, before those of others.
  bool goes_on_at_once() { return order == GI_AHEAD || (order == GI_RANDOM && random.next() & 1); }

 private:
  uint64_t sampled(uint64_t i) const {
    if (blocks == whole) return i;
    uint64_t parts = blocks / 2, part = i / 2, length = whole / parts, first = part * length;
    if (part == parts - 1) first = whole - 2;
    else if (part) first += Random(part).below(length - 1);
    return first + i % 2;
  }
  void permute(unsigned *numbers, unsigned count) {
    for (unsigned i = count; i > 1; --i) {
      unsigned other = unsigned(random.below(i)), kept = numbers[other];
      numbers[other] = numbers[i - 1], numbers[i - 1] = kept;
    }
  }
  void shuffle() {
    for (unsigned i = 0; i < size; ++i) turns[i] = i;
    permute(turns, size);
    place();
  }
  void add_warp(unsigned warp, unsigned *filled) {
    for (unsigned thread = warp * 32; thread < size && thread < warp * 32 + 32; ++thread) turns[(*filled)++] = thread;
  }
  void place() {
    for (unsigned i = 0; i < size; ++i) places[turns[i]] = i;
  }
};

}  // namespace gi
