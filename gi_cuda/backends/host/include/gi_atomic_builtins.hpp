// Atomics as nvcc itself offers them: the order and the threads for which they are atomic are arguments.
#pragma once

#include "gi_atomic_objects.hpp"

#define __NV_ATOMIC_RELAXED cuda::memory_order_relaxed
#define __NV_ATOMIC_CONSUME cuda::memory_order_consume
#define __NV_ATOMIC_ACQUIRE cuda::memory_order_acquire
#define __NV_ATOMIC_RELEASE cuda::memory_order_release
#define __NV_ATOMIC_ACQ_REL cuda::memory_order_acq_rel
#define __NV_ATOMIC_SEQ_CST cuda::memory_order_seq_cst
#define __NV_THREAD_SCOPE_THREAD GI_BLOCK
#define __NV_THREAD_SCOPE_BLOCK GI_BLOCK
#define __NV_THREAD_SCOPE_CLUSTER GI_DEVICE
#define __NV_THREAD_SCOPE_DEVICE GI_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM GI_DEVICE

template <class T>
struct gi_itself {
  using type = T;
};
// Of a type that the address says.
template <class T>
using gi_same = typename gi_itself<T>::type;

// Inlined, so that the detector of races sees the line that calls them.
#define GI_BUILTIN template <class T> static inline __attribute__((always_inline))

GI_BUILTIN T __nv_atomic_load_n(const T *address, cuda::memory_order order, gi_reach reach = GI_DEVICE) {
  return gi_atomic_read(address, order, reach);
}
GI_BUILTIN void __nv_atomic_load(const T *address, T *into, cuda::memory_order order, gi_reach reach = GI_DEVICE) {
  *into = gi_atomic_read(address, order, reach);
}

#define GI_CHANGES(name, returns, type, new_value)                                                          \
  GI_BUILTIN returns name(T *address, type operand, cuda::memory_order order, gi_reach reach = GI_DEVICE) { \
    return (returns)gi_atomic_change(address, [&](T old) -> T { return (void)old, (new_value); }, order, reach); \
  }
GI_CHANGES(__nv_atomic_store_n, void, gi_same<T>, operand)
GI_CHANGES(__nv_atomic_store, void, const T *, *operand)
GI_CHANGES(__nv_atomic_exchange_n, T, gi_same<T>, operand)
GI_CHANGES(__nv_atomic_fetch_add, T, gi_same<T>, old + operand)
GI_CHANGES(__nv_atomic_fetch_sub, T, gi_same<T>, old - operand)
GI_CHANGES(__nv_atomic_fetch_and, T, gi_same<T>, old & operand)
GI_CHANGES(__nv_atomic_fetch_or, T, gi_same<T>, old | operand)
GI_CHANGES(__nv_atomic_fetch_xor, T, gi_same<T>, old ^ operand)
GI_CHANGES(__nv_atomic_fetch_min, T, gi_same<T>, operand < old ? operand : old)
GI_CHANGES(__nv_atomic_fetch_max, T, gi_same<T>, operand > old ? operand : old)
#undef GI_CHANGES

GI_BUILTIN void __nv_atomic_exchange(T *address, const T *operand, T *into, cuda::memory_order order,
                                     gi_reach reach = GI_DEVICE) {
  *into = __nv_atomic_exchange_n(address, *operand, order, reach);
}
GI_BUILTIN bool __nv_atomic_compare_exchange_n(T *address, T *expected, gi_same<T> wanted, bool,
                                               cuda::memory_order order, cuda::memory_order,
                                               gi_reach reach = GI_DEVICE) {
  const T before = *expected;
  const auto change = [&](T old) -> T { return old == before ? wanted : old; };
  *expected = gi_atomic_change(address, change, order, reach);
  return *expected == before;
}
GI_BUILTIN bool __nv_atomic_compare_exchange(T *address, T *expected, const T *wanted, bool weak,
                                             cuda::memory_order order, cuda::memory_order otherwise,
                                             gi_reach reach = GI_DEVICE) {
  return __nv_atomic_compare_exchange_n(address, expected, *wanted, weak, order, otherwise, reach);
}
#undef GI_BUILTIN
