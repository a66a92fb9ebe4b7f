// Products of small matrices by the threads of a warp, as in CUDA's <mma.h>. Which thread holds what is left open there;
// here each holds elements beside each other, row by row.
#pragma once

#include "gi_collectives.hpp"
#include "gi_cuda_host.hpp"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};

namespace precision {
struct tf32 {};
}  // namespace precision

template <class T>
struct gi_element {
  typedef T type;
  static T read(T value) { return value; }
};
template <>
struct gi_element<precision::tf32> {
  typedef float type;
  // What a product takes of a float: the last 13 bits are left out.
  static float read(float value) { return gi_from_bits<float>(uint32_t(gi_bits(value)) & ~0x1fffu); }
};

template <class Use, int M, int N, int K>
struct gi_shape;
template <int M, int N, int K>
struct gi_shape<matrix_a, M, N, K> {
  static constexpr int rows = M, columns = K;
};
template <int M, int N, int K>
struct gi_shape<matrix_b, M, N, K> {
  static constexpr int rows = K, columns = N;
};
template <int M, int N, int K>
struct gi_shape<accumulator, M, N, K> {
  static constexpr int rows = M, columns = N;
};

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
 public:
  typedef gi_shape<Use, M, N, K> Shape;
  typedef typename gi_element<T>::type element_type;
  typedef element_type storage_element_type;
  static constexpr int num_elements = Shape::rows * Shape::columns / 32, num_storage_elements = num_elements;
  element_type x[num_elements];

  // Where the i-th element of a thread lies in memory.
  static size_t gi_place(int i, unsigned stride, bool by_rows) {
    unsigned at = gi_lane() * num_elements + unsigned(i), row = at / Shape::columns, column = at % Shape::columns;
    return by_rows ? size_t(row) * stride + column : size_t(column) * stride + row;
  }
  // The whole matrix, row by row.
  void gi_whole(element_type (&all)[Shape::rows * Shape::columns]) const {
    constexpr unsigned kBytes = sizeof x, kWord = kBytes < 8 ? kBytes : 8;
    unsigned char *bytes = reinterpret_cast<unsigned char *>(all);
    for (unsigned from = 0; from < kBytes; from += kWord) {
      uint64_t own = 0;
      __builtin_memcpy(&own, reinterpret_cast<const unsigned char *>(x) + from, kWord);
      const gi_table &table = gi_gather(~0u, own);
      for (unsigned lane = 0; lane < 32; ++lane)
        __builtin_memcpy(bytes + lane * kBytes + from, &table.values[lane], kWord);
    }
  }
};

template <class Layout>
struct gi_by_rows;
template <>
struct gi_by_rows<row_major> {
  static constexpr bool value = true;
};
template <>
struct gi_by_rows<col_major> {
  static constexpr bool value = false;
};

template <class Use, int M, int N, int K, class T, class Layout, class V>
static inline void fill_fragment(fragment<Use, M, N, K, T, Layout> &to, const V &value) {
  typedef typename gi_element<T>::type Element;
  for (auto &element : to.x) element = Element(value);
}

template <class Use, int M, int N, int K, class T, class Layout, class From>
static inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &to, const From *from, unsigned stride) {
  __syncwarp();
  for (int i = 0; i < to.num_elements; ++i) to.x[i] = from[to.gi_place(i, stride, gi_by_rows<Layout>::value)];
}
template <int M, int N, int K, class T, class From>
static inline void load_matrix_sync(fragment<accumulator, M, N, K, T> &to, const From *from, unsigned stride,
                                    layout_t layout) {
  __syncwarp();
  for (int i = 0; i < to.num_elements; ++i) to.x[i] = from[to.gi_place(i, stride, layout == mem_row_major)];
}
template <class To, int M, int N, int K, class T>
static inline void store_matrix_sync(To *to, const fragment<accumulator, M, N, K, T> &from, unsigned stride,
                                     layout_t layout) {
  __syncwarp();
  for (int i = 0; i < from.num_elements; ++i) to[from.gi_place(i, stride, layout == mem_row_major)] = from.x[i];
}

// In what sums are added up.
template <class T>
struct gi_sum {
  typedef float type;
  static float rounded(float sum, bool) { return sum; }
};
template <>
struct gi_sum<double> {
  typedef double type;
  static double rounded(double sum, bool) { return sum; }
};
template <>
struct gi_sum<int> {
  typedef long long type;
  static int rounded(long long sum, bool saturate) {
    if (saturate && sum > 2147483647ll) return 2147483647;
    if (saturate && sum < -2147483648ll) return -2147483647 - 1;
    return int(sum);
  }
};

template <int M, int N, int K, class D, class T, class LayoutA, class LayoutB, class C>
static inline void mma_sync(fragment<accumulator, M, N, K, D> &to, const fragment<matrix_a, M, N, K, T, LayoutA> &left,
                            const fragment<matrix_b, M, N, K, T, LayoutB> &right,
                            const fragment<accumulator, M, N, K, C> &added, bool saturate = false) {
  typedef gi_element<T> Element;
  typedef typename gi_sum<D>::type Sum;
  typename Element::type a[M * K], b[K * N];
  left.gi_whole(a);
  right.gi_whole(b);
  for (int i = 0; i < to.num_elements; ++i) {
    int at = int(gi_lane()) * to.num_elements + i, row = at / N, column = at % N;
    Sum sum = Sum(added.x[i]);
    for (int k = 0; k < K; ++k)
      sum += Sum(Element::read(a[row * K + k])) * Sum(Element::read(b[k * N + column]));
    to.x[i] = D(gi_sum<D>::rounded(sum, saturate));
  }
}

// To the nearest; of two as near, away from zero.
static inline float __float_to_tf32(float value) {
  uint32_t bits = uint32_t(gi_bits(value));
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return gi_from_bits<float>((bits + 0x1000u) & ~0x1fffu);
}

}  // namespace wmma
}  // namespace nvcuda

using nvcuda::wmma::__float_to_tf32;
