// What cub's collectives combine values with, under the names of all its releases.
#pragma once

namespace cub {

template <class Key_, class Value_>
struct KeyValuePair {
  typedef Key_ Key;
  typedef Value_ Value;
  Key key;
  Value value;
};

struct Sum {
  template <class T, class U>
  auto operator()(const T &a, const U &b) const -> decltype(a + b) {
    return a + b;
  }
};
struct Max {
  template <class T>
  T operator()(const T &a, const T &b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T &a, const T &b) const {
    return b < a ? b : a;
  }
};
// Of equals, the one whose key comes first.
struct ArgMax {
  template <class Pair>
  Pair operator()(const Pair &a, const Pair &b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class Pair>
  Pair operator()(const Pair &a, const Pair &b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

}  // namespace cub
