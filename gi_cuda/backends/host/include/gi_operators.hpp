// What groups reduce and scan with.
#pragma once

namespace cooperative_groups {

#define GI_OPERATOR(name, result)                       \
  template <class T>                                    \
  struct name {                                         \
    T operator()(T a, T b) const { return result; }     \
  };
GI_OPERATOR(plus, a + b)
GI_OPERATOR(less, b < a ? b : a)
GI_OPERATOR(greater, a < b ? b : a)
GI_OPERATOR(bit_and, a &b)
GI_OPERATOR(bit_or, a | b)
GI_OPERATOR(bit_xor, a ^ b)
#undef GI_OPERATOR

// What an atomic of libcu++ held before it took in another value.
template <class Atomic, class T, class F>
static inline T gi_update(Atomic &&atomic, T value, F &&operation) {
  T old = atomic.load();
  while (!atomic.compare_exchange_strong(old, operation(old, value))) {
  }
  return old;
}

}  // namespace cooperative_groups
