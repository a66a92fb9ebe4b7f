// libcu++'s function objects.
#pragma once

namespace cuda {
namespace std {

#define GI_FUNCTION(name, result)                       \
  template <class T = void>                             \
  struct name {                                         \
    constexpr auto operator()(const T &a, const T &b) const -> decltype(result) { return result; } \
  };                                                    \
  template <>                                           \
  struct name<void> {                                   \
    template <class T, class U>                         \
    constexpr auto operator()(const T &a, const U &b) const -> decltype(result) { \
      return result;                                    \
    }                                                   \
  };
GI_FUNCTION(plus, a + b)
GI_FUNCTION(minus, a - b)
GI_FUNCTION(multiplies, a *b)
GI_FUNCTION(bit_and, a &b)
GI_FUNCTION(bit_or, a | b)
GI_FUNCTION(bit_xor, a ^ b)
GI_FUNCTION(logical_and, a &&b)
GI_FUNCTION(logical_or, a || b)
GI_FUNCTION(equal_to, a == b)
GI_FUNCTION(not_equal_to, a != b)
GI_FUNCTION(less, a < b)
GI_FUNCTION(greater, a > b)
GI_FUNCTION(less_equal, a <= b)
GI_FUNCTION(greater_equal, a >= b)
#undef GI_FUNCTION

}  // namespace std

#define GI_EXTREME(name, comparison)                    \
  template <class T = void>                             \
  struct name {                                         \
    constexpr T operator()(const T &a, const T &b) const { return comparison ? b : a; } \
  };                                                    \
  template <>                                           \
  struct name<void> {                                   \
    template <class T>                                  \
    constexpr T operator()(const T &a, const T &b) const { \
      return comparison ? b : a;                        \
    }                                                   \
  };
GI_EXTREME(maximum, a < b)
GI_EXTREME(minimum, b < a)
#undef GI_EXTREME

}  // namespace cuda
