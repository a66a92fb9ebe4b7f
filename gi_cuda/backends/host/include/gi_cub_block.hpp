// cub's collectives of blocks, by warps first, as cub itself does it unless told otherwise.
#pragma once

#include "gi_cub_warp.hpp"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED
};

// Values in shared memory that nobody constructs.
template <class T, int Count>
struct gi_stored {
  alignas(T) unsigned char bytes[Count * sizeof(T)];
  T &operator[](int i) { return reinterpret_cast<T *>(bytes)[i]; }
};
struct gi_nothing_stored {};

template <class T, int N, class Operation>
static inline T gi_together(const T (&items)[N], Operation operation) {
  T all = items[0];
  for (int i = 1; i < N; ++i) all = operation(all, items[i]);
  return all;
}

// Where a thread stands among those of its block.
template <int X, int Y, int Z>
struct gi_block {
  static constexpr int kThreads = X * Y * Z, kWarps = (kThreads + 31) / 32;
  const int thread = RowMajorTid(X, Y, Z), warp = thread / 32, lane = thread % 32;
};

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  typedef gi_block<X, Y, Z> Block;

 public:
  typedef gi_stored<T, Block::kWarps> TempStorage;
  explicit BlockReduce(TempStorage &stored) : stored_(stored) {}

  template <class Operation>
  T Reduce(T input, Operation operation) {
    return Reduce(input, operation, Block::kThreads);
  }
  template <int N, class Operation>
  T Reduce(T (&inputs)[N], Operation operation) {
    return Reduce(gi_together(inputs, operation), operation);
  }
  // What the first thread gets is what the first `valid` have together.
  template <class Operation>
  T Reduce(T input, Operation operation, int valid) {
    Block at;
    typename WarpReduce<T>::TempStorage none;
    T all = WarpReduce<T>(none).Reduce(input, operation, valid - 32 * at.warp);
    if (at.lane == 0) stored_[at.warp] = all;
    __syncthreads();
    if (at.thread == 0)
      for (int warp = 1; warp < Block::kWarps && warp * 32 < valid; ++warp) all = operation(all, stored_[warp]);
    return all;
  }
  T Sum(T input) { return Reduce(input, cub::Sum()); }
  T Sum(T input, int valid) { return Reduce(input, cub::Sum(), valid); }
  template <int N>
  T Sum(T (&inputs)[N]) {
    return Reduce(inputs, cub::Sum());
  }

 private:
  TempStorage &stored_;
};

template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  typedef gi_block<X, Y, Z> Block;

 public:
  typedef gi_stored<T, Block::kWarps + 1> TempStorage;
  explicit BlockScan(TempStorage &stored) : stored_(stored) {}

  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation, T &aggregate) {
    T before;
    output = before_this(input, before, operation, aggregate) ? operation(before, input) : input;
  }
  template <class Operation>
  void InclusiveScan(T input, T &output, Operation operation) {
    T aggregate;
    InclusiveScan(input, output, operation, aggregate);
  }
  template <class Operation, class Callback>
  void InclusiveScan(T input, T &output, Operation operation, Callback &callback) {
    T aggregate;
    InclusiveScan(input, output, operation, aggregate);
    output = operation(told(callback, aggregate), output);
  }
  template <int N, class Operation>
  void InclusiveScan(T (&input)[N], T (&output)[N], Operation operation, T &aggregate) {
    T before;
    bool some = before_this(gi_together(input, operation), before, operation, aggregate);
    for (int i = 0; i < N; ++i, some = true) output[i] = before = some ? operation(before, input[i]) : input[i];
  }
  template <int N, class Operation>
  void InclusiveScan(T (&input)[N], T (&output)[N], Operation operation) {
    T aggregate;
    InclusiveScan(input, output, operation, aggregate);
  }
  template <int N, class Operation, class Callback>
  void InclusiveScan(T (&input)[N], T (&output)[N], Operation operation, Callback &callback) {
    T aggregate;
    InclusiveScan(input, output, operation, aggregate);
    T prefix = told(callback, aggregate);
    for (T &value : output) value = operation(prefix, value);
  }

  // Without a first value, what the first thread gets is undefined on a device; it is its own here.
  template <class Operation>
  void ExclusiveScan(T input, T &output, Operation operation, T &aggregate) {
    T before;
    output = before_this(input, before, operation, aggregate) ? before : input;
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation, T &aggregate) {
    T before;
    output = before_this(input, before, operation, aggregate) ? operation(initial, before) : initial;
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, Operation operation) {
    T aggregate;
    ExclusiveScan(input, output, operation, aggregate);
  }
  template <class Operation>
  void ExclusiveScan(T input, T &output, T initial, Operation operation) {
    T aggregate;
    ExclusiveScan(input, output, initial, operation, aggregate);
  }
  template <class Operation, class Callback>
  void ExclusiveScan(T input, T &output, Operation operation, Callback &callback) {
    T aggregate, before;
    bool some = before_this(input, before, operation, aggregate);
    T prefix = told(callback, aggregate);
    output = some ? operation(prefix, before) : prefix;
  }
  template <int N, class Operation>
  void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, Operation operation, T &aggregate) {
    T before;
    bool some = before_this(gi_together(input, operation), before, operation, aggregate);
    spread(input, output, some ? operation(initial, before) : initial, operation);
  }
  template <int N, class Operation>
  void ExclusiveScan(T (&input)[N], T (&output)[N], T initial, Operation operation) {
    T aggregate;
    ExclusiveScan(input, output, initial, operation, aggregate);
  }
  template <int N, class Operation, class Callback>
  void ExclusiveScan(T (&input)[N], T (&output)[N], Operation operation, Callback &callback) {
    T aggregate, before;
    bool some = before_this(gi_together(input, operation), before, operation, aggregate);
    T prefix = told(callback, aggregate);
    spread(input, output, some ? operation(prefix, before) : prefix, operation);
  }

  // Of one value or of an array of them; after these, an aggregate or a callback.
  template <class In, class Out, class... Rest>
  void InclusiveSum(In &&input, Out &output, Rest &...rest) {
    InclusiveScan(input, output, Sum(), rest...);
  }
  template <class In, class Out>
  void ExclusiveSum(In &&input, Out &output) {
    ExclusiveScan(input, output, T(0), Sum());
  }
  template <class In, class Out>
  void ExclusiveSum(In &&input, Out &output, T &aggregate) {
    ExclusiveScan(input, output, T(0), Sum(), aggregate);
  }
  template <class In, class Out, class Callback>
  void ExclusiveSum(In &&input, Out &output, Callback &callback) {
    ExclusiveScan(input, output, Sum(), callback);
  }

 private:
  // Whether any thread is before this one, and what these have together.
  template <class Operation>
  bool before_this(T input, T &before, Operation operation, T &aggregate) {
    Block at;
    typename WarpScan<T>::TempStorage none;
    T inclusive;
    WarpScan<T>(none).Scan(input, inclusive, before, operation);
    int last = Block::kThreads - 1 - 32 * at.warp;
    if (at.lane == (last < 31 ? last : 31)) stored_[at.warp] = inclusive;
    __syncthreads();
    aggregate = stored_[0];
    for (int warp = 1; warp < Block::kWarps; ++warp) {
      if (warp == at.warp) before = at.lane ? operation(aggregate, before) : aggregate;
      aggregate = operation(aggregate, stored_[warp]);
    }
    return at.thread > 0;
  }
  // What the first thread's callback says of the block; the first warp calls it.
  template <class Callback>
  T told(Callback &callback, T aggregate) {
    Block at;
    if (at.warp == 0) {
      T prefix = callback(aggregate);
      if (at.lane == 0) stored_[Block::kWarps] = prefix;
    }
    __syncthreads();
    return stored_[Block::kWarps];
  }
  template <int N, class Operation>
  static void spread(T (&input)[N], T (&output)[N], T before, Operation operation) {
    for (int i = 0; i < N; ++i) {
      T own = input[i];
      output[i] = before;
      before = operation(before, own);
    }
  }

  TempStorage &stored_;
};

// Which of a block's items is a thread's i-th.
template <bool Striped>
struct gi_arrangement {
  static int place(int thread, int threads, int items, int i) {
    return Striped ? thread + i * threads : thread * items + i;
  }
};

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
  typedef gi_block<X, Y, Z> Block;
  typedef gi_arrangement<Algorithm == BLOCK_LOAD_STRIPED> Arrangement;

 public:
  typedef gi_nothing_stored TempStorage;
  BlockLoad() {}
  explicit BlockLoad(TempStorage &) {}

  template <class From>
  void Load(From from, T (&items)[Items]) {
    Load(from, items, Block::kThreads * Items);
  }
  template <class From>
  void Load(From from, T (&items)[Items], int valid) {
    Block at;
    for (int i = 0; i < Items; ++i) {
      int place = Arrangement::place(at.thread, Block::kThreads, Items, i);
      if (place < valid) items[i] = from[place];
    }
  }
  template <class From, class Default>
  void Load(From from, T (&items)[Items], int valid, Default otherwise) {
    for (T &item : items) item = otherwise;
    Load(from, items, valid);
  }
};

template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
  typedef gi_block<X, Y, Z> Block;
  typedef gi_arrangement<Algorithm == BLOCK_STORE_STRIPED> Arrangement;

 public:
  typedef gi_nothing_stored TempStorage;
  BlockStore() {}
  explicit BlockStore(TempStorage &) {}

  template <class To>
  void Store(To to, T (&items)[Items]) {
    Store(to, items, Block::kThreads * Items);
  }
  template <class To>
  void Store(To to, T (&items)[Items], int valid) {
    Block at;
    for (int i = 0; i < Items; ++i) {
      int place = Arrangement::place(at.thread, Block::kThreads, Items, i);
      if (place < valid) to[place] = items[i];
    }
  }
};

template <class T, int X, int Items, bool = false, int Y = 1, int Z = 1, int = 0>
class BlockExchange {
  typedef gi_block<X, Y, Z> Block;
  typedef gi_arrangement<false> Blocked;
  typedef gi_arrangement<true> Striped;

 public:
  typedef gi_stored<T, Block::kThreads * Items> TempStorage;
  explicit BlockExchange(TempStorage &stored) : stored_(stored) {}

  template <class Out>
  void StripedToBlocked(const T (&items)[Items], Out (&out)[Items]) {
    put<Striped>(items);
    get<Blocked>(out);
  }
  template <class Out>
  void BlockedToStriped(const T (&items)[Items], Out (&out)[Items]) {
    put<Blocked>(items);
    get<Striped>(out);
  }
  template <class Out, class Rank>
  void ScatterToBlocked(const T (&items)[Items], Out (&out)[Items], Rank (&ranks)[Items]) {
    for (int i = 0; i < Items; ++i) stored_[int(ranks[i])] = items[i];
    get<Blocked>(out);
  }
  template <class Out, class Rank>
  void ScatterToStriped(const T (&items)[Items], Out (&out)[Items], Rank (&ranks)[Items]) {
    for (int i = 0; i < Items; ++i) stored_[int(ranks[i])] = items[i];
    get<Striped>(out);
  }
  void StripedToBlocked(T (&items)[Items]) { StripedToBlocked(items, items); }
  void BlockedToStriped(T (&items)[Items]) { BlockedToStriped(items, items); }

 private:
  template <class Arrangement>
  void put(const T (&items)[Items]) {
    Block at;
    for (int i = 0; i < Items; ++i) stored_[Arrangement::place(at.thread, Block::kThreads, Items, i)] = items[i];
  }
  template <class Arrangement, class Out>
  void get(Out (&out)[Items]) {
    Block at;
    __syncthreads();
    for (int i = 0; i < Items; ++i) out[i] = stored_[Arrangement::place(at.thread, Block::kThreads, Items, i)];
  }

  TempStorage &stored_;
};

}  // namespace cub
