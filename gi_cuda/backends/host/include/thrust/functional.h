// Stands for Thrust's header of this name in device code.
#pragma once
#include <functional>

namespace thrust {

using ::std::bit_and;
using ::std::bit_or;
using ::std::bit_xor;
using ::std::divides;
using ::std::equal_to;
using ::std::greater;
using ::std::greater_equal;
using ::std::less;
using ::std::less_equal;
using ::std::logical_and;
using ::std::logical_not;
using ::std::logical_or;
using ::std::minus;
using ::std::modulus;
using ::std::multiplies;
using ::std::negate;
using ::std::not_equal_to;
using ::std::plus;

template <class T = void>
struct maximum {
  constexpr T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <class T = void>
struct minimum {
  constexpr T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <class T = void>
struct identity {
  constexpr const T &operator()(const T &one) const { return one; }
};

}  // namespace thrust
