// What host code beside kernels says of Thrust, so that it compiles: containers, pointers, policies, algorithms.
// None of it is ever run. Device code that calls an algorithm is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "gi_thrust_iterators.hpp"
#include "thrust/functional.h"
#include "thrust/pair.h"
#include "thrust/tuple.h"

#define THRUST_MAJOR_VERSION 3
#define THRUST_MINOR_VERSION 0
#define THRUST_VERSION 300000

namespace thrust {

using ::std::advance;
using ::std::distance;
using ::std::iterator_traits;
using ::std::max;
using ::std::min;

template <class T>
class device_ptr;

template <class T>
class device_reference {
 public:
  device_reference() = default;
  explicit device_reference(T *at) : at_(at) {}
  operator T() const { return *at_; }
  device_reference &operator=(const T &value) {
    *at_ = value;
    return *this;
  }
  device_ptr<T> operator&() const { return device_ptr<T>(at_); }

 private:
  T *at_ = nullptr;
};
template <class T>
using reference = device_reference<T>;

template <class T>
class device_ptr {
 public:
  using iterator_category = ::std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = ptrdiff_t;
  using pointer = device_ptr;
  using reference = device_reference<T>;

  device_ptr() = default;
  device_ptr(decltype(nullptr)) {}
  template <class U>
  explicit device_ptr(U *at) : at_(at) {}
  template <class U>
  device_ptr(const device_ptr<U> &other) : at_(other.get()) {}
  T *get() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }
  reference operator*() const { return reference(at_); }
  reference operator[](ptrdiff_t further) const { return reference(at_ + further); }
  device_ptr operator+(ptrdiff_t further) const { return device_ptr(at_ + further); }
  device_ptr operator-(ptrdiff_t back) const { return device_ptr(at_ - back); }
  ptrdiff_t operator-(const device_ptr &other) const { return at_ - other.at_; }
  device_ptr &operator+=(ptrdiff_t further) { return *this = *this + further; }
  device_ptr &operator++() { return *this += 1; }
  device_ptr operator++(int) {
    device_ptr before = *this;
    ++*this;
    return before;
  }
  bool operator==(const device_ptr &other) const { return at_ == other.at_; }
  bool operator!=(const device_ptr &other) const { return at_ != other.at_; }

 private:
  T *at_ = nullptr;
};
template <>
class device_ptr<void> {
 public:
  explicit device_ptr(void *at = nullptr) : at_(at) {}
  void *get() const { return at_; }

 private:
  void *at_;
};

template <class T>
struct device_allocator : ::std::allocator<T> {};
template <class T>
struct device_malloc_allocator : ::std::allocator<T> {};
template <class T>
struct universal_allocator : ::std::allocator<T> {};

#define GI_THRUST_VECTOR(name, allocator_, pointer_, reference_)                \
  template <class T, class A = allocator_>                                      \
  class name {                                                                  \
   public:                                                                      \
    using value_type = T;                                                       \
    using allocator_type = A;                                                   \
    using size_type = size_t;                                                   \
    using difference_type = ptrdiff_t;                                          \
    using pointer = pointer_;                                                   \
    using const_pointer = pointer_;                                             \
    using reference = reference_;                                               \
    using const_reference = reference_;                                         \
    using iterator = pointer_;                                                  \
    using const_iterator = pointer_;                                            \
    name() = default;                                                           \
    template <class... Any>                                                     \
    name(const Any &...) {}                                                     \
    name(::std::initializer_list<T>) {}                                         \
    template <class Any>                                                        \
    name &operator=(const Any &) {                                              \
      return *this;                                                             \
    }                                                                           \
    size_t size() const { return 0; }                                           \
    size_t capacity() const { return 0; }                                       \
    size_t max_size() const { return 0; }                                       \
    bool empty() const { return true; }                                         \
    pointer data() const { return pointer(); }                                  \
    iterator begin() const { return iterator(); }                               \
    iterator end() const { return iterator(); }                                 \
    iterator cbegin() const { return iterator(); }                              \
    iterator cend() const { return iterator(); }                                \
    ::std::reverse_iterator<iterator> rbegin() const { return ::std::reverse_iterator<iterator>(); } \
    ::std::reverse_iterator<iterator> rend() const { return ::std::reverse_iterator<iterator>(); }   \
    reference operator[](size_t at) const { return begin()[ptrdiff_t(at)]; }    \
    reference front() const { return *begin(); }                                \
    reference back() const { return *begin(); }                                 \
    A get_allocator() const { return A(); }                                     \
    void clear() {}                                                             \
    void pop_back() {}                                                          \
    void shrink_to_fit() {}                                                     \
    void reserve(size_t) {}                                                     \
    void push_back(const T &) {}                                                \
    void swap(name &) {}                                                        \
    template <class... Any>                                                     \
    void resize(const Any &...) {}                                              \
    template <class... Any>                                                     \
    void assign(const Any &...) {}                                              \
    template <class... Any>                                                     \
    iterator insert(const Any &...) {                                           \
      return iterator();                                                        \
    }                                                                           \
    template <class... Any>                                                     \
    iterator erase(const Any &...) {                                            \
      return iterator();                                                        \
    }                                                                           \
  }
GI_THRUST_VECTOR(host_vector, ::std::allocator<T>, T *, T &);
GI_THRUST_VECTOR(device_vector, device_allocator<T>, device_ptr<T>, device_reference<T>);
GI_THRUST_VECTOR(universal_vector, universal_allocator<T>, T *, T &);
#undef GI_THRUST_VECTOR

template <class T>
T *raw_pointer_cast(T *at) {
  return at;
}
template <class T>
T *raw_pointer_cast(const device_ptr<T> &at) {
  return at.get();
}
template <class T>
T &raw_reference_cast(T &item) {
  return item;
}
template <class T>
T &raw_reference_cast(const device_reference<T> &item) {
  return *(&item).get();
}
template <class T>
device_ptr<T> device_pointer_cast(T *at) {
  return device_ptr<T>(at);
}
template <class T>
device_ptr<T> device_pointer_cast(const device_ptr<T> &at) {
  return at;
}

namespace detail {
// A policy, as it is and with what it is given: `par.on(stream)`, `par(allocator)`.
struct policy {
  template <class Any>
  constexpr policy on(const Any &) const {
    return {};
  }
  template <class Any>
  constexpr policy operator()(const Any &) const {
    return {};
  }
};
// What an algorithm gives: whatever it is asked for.
struct anything {
  template <class Any>
  operator Any() const;
};
}  // namespace detail
template <class Any = void>
using execution_policy = detail::policy;
template <class Any = void>
using host_execution_policy = detail::policy;
template <class Any = void>
using device_execution_policy = detail::policy;
constexpr detail::policy host, device, seq;
namespace cuda {
constexpr detail::policy par, par_nosync;
namespace experimental {
template <class T>
struct pinned_allocator : ::std::allocator<T> {};
}  // namespace experimental
}  // namespace cuda
namespace cuda_cub = cuda;
namespace system {
namespace cuda = thrust::cuda;
}
namespace omp {
constexpr detail::policy par;
}
namespace cpp {
constexpr detail::policy par;
}
struct random_access_device_iterator_tag {};
struct device_system_tag {};
struct host_system_tag {};

// Iterators that host code makes of others.
template <class... Any>
class zip_iterator {};
template <class... Any>
class transform_iterator {};
template <class... Any>
class permutation_iterator {};
template <class... Any>
class reverse_iterator {};
template <class... Any>
class transform_output_iterator {};
template <class Any = void>
class discard_iterator {};

#define GI_THRUST(name)                                                                             \
  template <class... Given, class... Any>                                                           \
  [[gnu::error("the host back end has no thrust::" #name)]] detail::anything name(const Any &...);
GI_THRUST(make_zip_iterator) GI_THRUST(make_transform_iterator) GI_THRUST(make_permutation_iterator)
GI_THRUST(make_reverse_iterator) GI_THRUST(make_discard_iterator) GI_THRUST(make_transform_output_iterator)
GI_THRUST(device_malloc) GI_THRUST(device_free) GI_THRUST(device_new) GI_THRUST(device_delete) GI_THRUST(malloc)
GI_THRUST(free) GI_THRUST(get_temporary_buffer) GI_THRUST(return_temporary_buffer)
GI_THRUST(adjacent_difference) GI_THRUST(all_of) GI_THRUST(any_of) GI_THRUST(none_of) GI_THRUST(binary_search)
GI_THRUST(copy) GI_THRUST(copy_if) GI_THRUST(copy_n) GI_THRUST(count) GI_THRUST(count_if) GI_THRUST(equal)
GI_THRUST(equal_range) GI_THRUST(exclusive_scan) GI_THRUST(exclusive_scan_by_key) GI_THRUST(fill) GI_THRUST(fill_n)
GI_THRUST(find) GI_THRUST(find_if) GI_THRUST(find_if_not) GI_THRUST(for_each) GI_THRUST(for_each_n) GI_THRUST(gather)
GI_THRUST(gather_if) GI_THRUST(generate) GI_THRUST(generate_n) GI_THRUST(inclusive_scan)
GI_THRUST(inclusive_scan_by_key) GI_THRUST(inner_product) GI_THRUST(is_partitioned) GI_THRUST(is_sorted)
GI_THRUST(is_sorted_until) GI_THRUST(lower_bound) GI_THRUST(max_element) GI_THRUST(merge) GI_THRUST(merge_by_key)
GI_THRUST(min_element) GI_THRUST(minmax_element) GI_THRUST(mismatch) GI_THRUST(partition) GI_THRUST(partition_copy)
GI_THRUST(partition_point) GI_THRUST(reduce) GI_THRUST(reduce_by_key) GI_THRUST(remove) GI_THRUST(remove_copy)
GI_THRUST(remove_copy_if) GI_THRUST(remove_if) GI_THRUST(replace) GI_THRUST(replace_copy) GI_THRUST(replace_copy_if)
GI_THRUST(replace_if) GI_THRUST(reverse) GI_THRUST(reverse_copy) GI_THRUST(scatter) GI_THRUST(scatter_if)
GI_THRUST(sequence) GI_THRUST(set_difference) GI_THRUST(set_difference_by_key) GI_THRUST(set_intersection)
GI_THRUST(set_intersection_by_key) GI_THRUST(set_symmetric_difference) GI_THRUST(set_union)
GI_THRUST(set_union_by_key) GI_THRUST(shuffle) GI_THRUST(sort) GI_THRUST(sort_by_key) GI_THRUST(stable_partition)
GI_THRUST(stable_sort) GI_THRUST(stable_sort_by_key) GI_THRUST(swap_ranges) GI_THRUST(tabulate) GI_THRUST(transform)
GI_THRUST(transform_exclusive_scan) GI_THRUST(transform_if) GI_THRUST(transform_inclusive_scan)
GI_THRUST(transform_reduce) GI_THRUST(uninitialized_copy) GI_THRUST(uninitialized_fill) GI_THRUST(unique)
GI_THRUST(unique_by_key) GI_THRUST(unique_by_key_copy) GI_THRUST(unique_copy) GI_THRUST(unique_count)
GI_THRUST(upper_bound)
#undef GI_THRUST

}  // namespace thrust
