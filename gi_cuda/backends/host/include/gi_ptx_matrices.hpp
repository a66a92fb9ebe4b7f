// What PTX has for small matrices that the threads of a warp hold together: ldmatrix, stmatrix and mma.sync. Which thread
// holds what is as in PTX's manual: thread 4 * row + part has the part-th word of a row.
#pragma once

#include "gi_collectives.hpp"
#include "gi_ptx.hpp"

// What all threads of a warp have.
static inline void gi_ptx_gather(uint64_t own, uint64_t (&all)[32]) {
  const gi_table &table = gi_gather(~0u, own);
  for (unsigned lane = 0; lane < 32; ++lane) all[lane] = table.values[lane];
}

// Eight rows of 16 bytes each, whose addresses eight threads have; of several matrices the next eight have them. Calls
// `each` with the number of a matrix and where the two halves of this thread's word of it are.
template <unsigned count, bool transposed, class Each>
static inline void gi_ptx_each_word(uint64_t address, Each each) {
  uint64_t rows[32];
  gi_ptx_gather(address, rows);
  for (unsigned row = 0; row < 8 * count; ++row) gi_ptx_aligned(rows[row], 16);
  const unsigned row = gi_lane() / 4, part = gi_lane() % 4;
  for (unsigned at = 0; at < count; ++at) {
    const uint64_t *own = rows + 8 * at;
    const uint64_t low = transposed ? own[2 * part] + 2 * row : own[row] + 4 * part;
    const uint64_t high = transposed ? own[2 * part + 1] + 2 * row : low + 2;
    each(at, reinterpret_cast<uint16_t *>(low), reinterpret_cast<uint16_t *>(high));
  }
}
template <unsigned count, bool transposed>
static inline void gi_ptx_load_matrices(uint64_t address, uint32_t (&to)[count]) {
  gi_ptx_each_word<count, transposed>(address, [&](unsigned at, const uint16_t *low, const uint16_t *high) {
    to[at] = *low | uint32_t(*high) << 16;
  });
}
template <unsigned count, bool transposed>
static inline void gi_ptx_store_matrices(uint64_t address, const uint32_t (&from)[count]) {
  gi_ptx_each_word<count, transposed>(address, [&](unsigned at, uint16_t *low, uint16_t *high) {
    *low = uint16_t(from[at]);
    *high = uint16_t(from[at] >> 16);
  });
}

// Elements of matrices: how many are in a word, and the values of these.
struct gi_ptx_f16 {
  typedef uint32_t Word;
  static constexpr unsigned count = 2;
  static float read(Word word, unsigned at) { return gi_half_format::widened(word >> 16 * at & 0xffff); }
};
struct gi_ptx_bf16 {
  typedef uint32_t Word;
  static constexpr unsigned count = 2;
  static float read(Word word, unsigned at) { return gi_bfloat_format::widened(word >> 16 * at & 0xffff); }
};
struct gi_ptx_tf32 {
  typedef uint32_t Word;
  static constexpr unsigned count = 1;
  static float read(Word word, unsigned) { return gi_bits_float(word & ~0x1fffu); }
};
struct gi_ptx_f64 {
  typedef uint64_t Word;
  static constexpr unsigned count = 1;
  static double read(Word word, unsigned) { return __longlong_as_double((long long)word); }
};
struct gi_ptx_s8 {
  typedef uint32_t Word;
  static constexpr unsigned count = 4;
  static long long read(Word word, unsigned at) { return int8_t(word >> 8 * at); }
};
struct gi_ptx_u8 {
  typedef uint32_t Word;
  static constexpr unsigned count = 4;
  static long long read(Word word, unsigned at) { return uint8_t(word >> 8 * at); }
};

// The product of a matrix whose words are held row by row and of one whose words are held column by column, added to
// the pairs of elements that a thread has of the sum: of rows eight apart, if there are more than eight.
template <class A, class B, unsigned lefts, unsigned rights, unsigned sums, class S>
static inline void gi_ptx_multiply_matrices(const typename A::Word (&left)[lefts], const typename B::Word (&right)[rights],
                                            S (&sum)[sums]) {
  uint64_t a[lefts][32], b[rights][32];
  for (unsigned at = 0; at < lefts; ++at) gi_ptx_gather(left[at], a[at]);
  for (unsigned at = 0; at < rights; ++at) gi_ptx_gather(right[at], b[at]);
  constexpr unsigned eights = lefts / rights;
  const unsigned row = gi_lane() / 4, column = gi_lane() % 4 * 2;
  for (unsigned at = 0; at < sums; ++at)
    for (unsigned group = 0; group < rights; ++group)
      for (unsigned part = 0; part < 4; ++part)
        for (unsigned i = 0; i < A::count; ++i)
          sum[at] += A::read(typename A::Word(a[group * eights + at / 2][4 * row + part]), i) *
                     B::read(typename B::Word(b[group][4 * (column + at % 2) + part]), i);
}
static inline int32_t gi_ptx_whole(long long sum, bool saturates) {
  if (saturates && sum > 2147483647ll) return 2147483647;
  if (saturates && sum < -2147483648ll) return -2147483647 - 1;
  return int32_t(sum);
}
