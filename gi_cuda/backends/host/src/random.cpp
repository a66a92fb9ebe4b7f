// Skipping numbers of Marsaglia's xorwow. A step is linear over bits, so many steps are a power of its matrix.
#include <stdint.h>
#include <string.h>

#include "internal.hpp"

namespace {

constexpr unsigned kWords = 5, kBits = 32 * kWords;
constexpr unsigned kSequence = 67;  // a sequence has 2^67 numbers
constexpr unsigned kPowers = kSequence + 64;

struct State {
  uint32_t word[kWords];
};

struct Matrix {
  State row[kBits];  // what becomes of each bit

  State of(const State &state) const {
    State sum = {};
    for (unsigned word = 0; word < kWords; ++word)
      for (uint32_t rest = state.word[word]; rest; rest &= rest - 1) {
        const State &one = row[32 * word + unsigned(__builtin_ctz(rest))];
        for (unsigned i = 0; i < kWords; ++i) sum.word[i] ^= one.word[i];
      }
    return sum;
  }
};

State next(const State &state) {
  const uint32_t *v = state.word, t = v[0] ^ v[0] >> 2;
  return {{v[1], v[2], v[3], v[4], v[4] ^ v[4] << 4 ^ t ^ t << 1}};
}

struct Powers {
  Matrix power[kPowers];  // of 2^0, 2^1, ... steps

  Powers() {
    for (unsigned bit = 0; bit < kBits; ++bit) {
      State one = {};
      one.word[bit / 32] = 1u << bit % 32;
      power[0].row[bit] = next(one);
    }
    for (unsigned n = 1; n < kPowers; ++n)
      for (unsigned bit = 0; bit < kBits; ++bit) power[n].row[bit] = power[n - 1].of(power[n - 1].row[bit]);
  }
};

void skip(State &state, unsigned first, uint64_t count) {
  static const Powers *const powers = new Powers;
  for (; count; ++first, count >>= 1)
    if (count & 1) state = powers->power[first].of(state);
}

}  // namespace

extern "C" void gi_xorwow_skip(uint32_t *words, uint64_t steps, uint64_t sequences) {
  State state;
  memcpy(&state, words, sizeof state);
  if (steps) skip(state, 0, steps);
  if (sequences) skip(state, kSequence, sequences);
  memcpy(words, &state, sizeof state);
}
