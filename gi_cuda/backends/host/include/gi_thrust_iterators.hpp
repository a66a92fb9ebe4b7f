// Thrust's iterators that make their values, as device code gets them from host code.
#pragma once

#include <stddef.h>

namespace thrust {

template <class T>
class counting_iterator {
 public:
  using value_type = T;
  using reference = T;
  using difference_type = ptrdiff_t;

  counting_iterator() = default;
  explicit counting_iterator(T first) : at_(first) {}

  T operator*() const { return at_; }
  T operator[](ptrdiff_t further) const { return T(at_ + further); }
  counting_iterator operator+(ptrdiff_t further) const { return counting_iterator(T(at_ + further)); }
  counting_iterator operator-(ptrdiff_t back) const { return counting_iterator(T(at_ - back)); }
  ptrdiff_t operator-(counting_iterator other) const { return ptrdiff_t(at_ - other.at_); }
  counting_iterator &operator+=(ptrdiff_t further) { return *this = *this + further; }
  counting_iterator &operator++() { return *this += 1; }
  counting_iterator operator++(int) {
    counting_iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(counting_iterator other) const { return at_ == other.at_; }
  bool operator!=(counting_iterator other) const { return at_ != other.at_; }
  bool operator<(counting_iterator other) const { return at_ < other.at_; }

 private:
  T at_{};
};

template <class T>
counting_iterator<T> make_counting_iterator(T first) {
  return counting_iterator<T>(first);
}

template <class T>
class constant_iterator {
 public:
  using value_type = T;
  using reference = T;
  using difference_type = ptrdiff_t;

  explicit constant_iterator(T value = {}) : value_(value) {}

  T operator*() const { return value_; }
  T operator[](ptrdiff_t) const { return value_; }
  constant_iterator operator+(ptrdiff_t) const { return *this; }
  constant_iterator &operator++() { return *this; }

 private:
  T value_;
};

template <class T>
constant_iterator<T> make_constant_iterator(T value) {
  return constant_iterator<T>(value);
}

}  // namespace thrust
