// cub's collectives of blocks in which a thread looks at items of those beside it.
#pragma once

#include "gi_cub_block.hpp"

namespace cub {

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockAdjacentDifference {
  typedef gi_block<X, Y, Z> Block;

 public:
  typedef gi_stored<T, Block::kThreads> TempStorage;
  explicit BlockAdjacentDifference(TempStorage &stored) : stored_(stored) {}

  template <int N, class Out, class Difference>
  void SubtractLeft(T (&input)[N], Out (&output)[N], Difference difference) {
    left(input, output, difference, Block::kThreads * N, nullptr);
  }
  template <int N, class Out, class Difference>
  void SubtractLeft(T (&input)[N], Out (&output)[N], Difference difference, T before) {
    left(input, output, difference, Block::kThreads * N, &before);
  }
  template <int N, class Out, class Difference>
  void SubtractLeftPartialTile(T (&input)[N], Out (&output)[N], Difference difference, int valid) {
    left(input, output, difference, valid, nullptr);
  }
  template <int N, class Out, class Difference>
  void SubtractLeftPartialTile(T (&input)[N], Out (&output)[N], Difference difference, int valid, T before) {
    left(input, output, difference, valid, &before);
  }
  template <int N, class Out, class Difference>
  void SubtractRight(T (&input)[N], Out (&output)[N], Difference difference) {
    right(input, output, difference, Block::kThreads * N, nullptr);
  }
  template <int N, class Out, class Difference>
  void SubtractRight(T (&input)[N], Out (&output)[N], Difference difference, T after) {
    right(input, output, difference, Block::kThreads * N, &after);
  }
  template <int N, class Out, class Difference>
  void SubtractRightPartialTile(T (&input)[N], Out (&output)[N], Difference difference, int valid) {
    right(input, output, difference, valid, nullptr);
  }

 private:
  // Output and input may be one array: no item is written before its neighbour has read it.
  template <int N, class Out, class Difference>
  void left(T (&input)[N], Out (&output)[N], Difference difference, int valid, T *before) {
    Block at;
    stored_[at.thread] = input[N - 1];
    __syncthreads();
    for (int i = N - 1; i >= 0; --i) {
      T *other = i > 0 ? &input[i - 1] : at.thread > 0 ? &stored_[at.thread - 1] : before;
      if (other && at.thread * N + i < valid)
        output[i] = difference(input[i], *other);
      else
        output[i] = input[i];
    }
  }
  template <int N, class Out, class Difference>
  void right(T (&input)[N], Out (&output)[N], Difference difference, int valid, T *after) {
    Block at;
    stored_[at.thread] = input[0];
    __syncthreads();
    for (int i = 0; i < N; ++i) {
      bool last = at.thread * N + i + 1 >= valid;
      T *other = last ? nullptr : i + 1 < N ? &input[i + 1] : &stored_[at.thread + 1];
      if (at.thread * N + i + 1 == Block::kThreads * N) other = after;
      if (other)
        output[i] = difference(input[i], *other);
      else
        output[i] = input[i];
    }
  }

  TempStorage &stored_;
};

// Whether two neighbours differ, asked with or without the place of the second one.
template <class Flag, class T>
static inline auto gi_differ(Flag flag, const T &a, const T &b, int place, int) -> decltype(bool(flag(a, b, place))) {
  return flag(a, b, place);
}
template <class Flag, class T>
static inline bool gi_differ(Flag flag, const T &a, const T &b, int, long) {
  return flag(a, b);
}

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockDiscontinuity {
  typedef gi_block<X, Y, Z> Block;

 public:
  struct TempStorage {
    gi_stored<T, Block::kThreads> first, last;
  };
  explicit BlockDiscontinuity(TempStorage &stored) : stored_(stored) {}

  template <int N, class Flag, class Differ>
  void FlagHeads(Flag (&heads)[N], T (&input)[N], Differ differ) {
    share(input);
    flag_heads(heads, input, differ, nullptr);
  }
  template <int N, class Flag, class Differ>
  void FlagHeads(Flag (&heads)[N], T (&input)[N], Differ differ, T before) {
    share(input);
    flag_heads(heads, input, differ, &before);
  }
  template <int N, class Flag, class Differ>
  void FlagTails(Flag (&tails)[N], T (&input)[N], Differ differ) {
    share(input);
    flag_tails(tails, input, differ, nullptr);
  }
  template <int N, class Flag, class Differ>
  void FlagTails(Flag (&tails)[N], T (&input)[N], Differ differ, T after) {
    share(input);
    flag_tails(tails, input, differ, &after);
  }
  template <int N, class Flag, class Differ>
  void FlagHeadsAndTails(Flag (&heads)[N], Flag (&tails)[N], T (&input)[N], Differ differ) {
    share(input);
    flag_heads(heads, input, differ, nullptr);
    flag_tails(tails, input, differ, nullptr);
  }
  template <int N, class Flag, class Differ>
  void FlagHeadsAndTails(Flag (&heads)[N], Flag (&tails)[N], T after, T (&input)[N], Differ differ) {
    share(input);
    flag_heads(heads, input, differ, nullptr);
    flag_tails(tails, input, differ, &after);
  }
  template <int N, class Flag, class Differ>
  void FlagHeadsAndTails(Flag (&heads)[N], T before, Flag (&tails)[N], T (&input)[N], Differ differ) {
    share(input);
    flag_heads(heads, input, differ, &before);
    flag_tails(tails, input, differ, nullptr);
  }
  template <int N, class Flag, class Differ>
  void FlagHeadsAndTails(Flag (&heads)[N], T before, Flag (&tails)[N], T after, T (&input)[N], Differ differ) {
    share(input);
    flag_heads(heads, input, differ, &before);
    flag_tails(tails, input, differ, &after);
  }

 private:
  template <int N>
  void share(T (&input)[N]) {
    Block at;
    stored_.first[at.thread] = input[0];
    stored_.last[at.thread] = input[N - 1];
    __syncthreads();
  }
  template <int N, class Flag, class Differ>
  void flag_heads(Flag (&heads)[N], T (&input)[N], Differ differ, const T *before) {
    Block at;
    for (int i = 0; i < N; ++i) {
      const T *other = i > 0 ? &input[i - 1] : at.thread > 0 ? &stored_.last[at.thread - 1] : before;
      heads[i] = other ? gi_differ(differ, *other, input[i], at.thread * N + i, 0) : 1;
    }
  }
  template <int N, class Flag, class Differ>
  void flag_tails(Flag (&tails)[N], T (&input)[N], Differ differ, const T *after) {
    Block at;
    for (int i = 0; i < N; ++i) {
      bool within = at.thread + 1 < Block::kThreads;
      const T *other = i + 1 < N ? &input[i + 1] : within ? &stored_.first[at.thread + 1] : after;
      tails[i] = other ? gi_differ(differ, input[i], *other, at.thread * N + i + 1, 0) : 1;
    }
  }

  TempStorage &stored_;
};

template <class T, int X, int Y = 1, int Z = 1, int = 0>
class BlockShuffle {
  typedef gi_block<X, Y, Z> Block;

 public:
  typedef gi_stored<T, Block::kThreads> TempStorage;
  explicit BlockShuffle(TempStorage &stored) : stored_(stored) {}

  void Offset(T input, T &output, int distance = 1) {
    Block at;
    share(input);
    int from = at.thread + distance;
    if (0 <= from && from < Block::kThreads) output = stored_[from];
  }
  void Rotate(T input, T &output, unsigned distance = 1) {
    Block at;
    share(input);
    output = stored_[int((at.thread + distance) % Block::kThreads)];
  }
  template <int N>
  void Up(T (&input)[N], T (&before)[N]) {
    Block at;
    share(input[N - 1]);
    for (int i = N - 1; i > 0; --i) before[i] = input[i - 1];
    if (at.thread > 0) before[0] = stored_[at.thread - 1];
  }
  template <int N>
  void Up(T (&input)[N], T (&before)[N], T &last) {
    Up(input, before);
    last = stored_[Block::kThreads - 1];
  }
  template <int N>
  void Down(T (&input)[N], T (&after)[N]) {
    Block at;
    share(input[0]);
    for (int i = 0; i + 1 < N; ++i) after[i] = input[i + 1];
    if (at.thread + 1 < Block::kThreads) after[N - 1] = stored_[at.thread + 1];
  }
  template <int N>
  void Down(T (&input)[N], T (&after)[N], T &first) {
    Down(input, after);
    first = stored_[0];
  }

 private:
  void share(const T &value) {
    Block at;
    stored_[at.thread] = value;
    __syncthreads();
  }

  TempStorage &stored_;
};

}  // namespace cub
