// Atomics as objects, as libcu++ has them. Threads change only where they wait, so plain reads and writes are atomic.
#pragma once

#include "gi_collectives.hpp"

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread = 10 };

namespace std {
enum memory_order {
  memory_order_relaxed,
  memory_order_consume,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
};
}  // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

}  // namespace cuda

// In watched code the detector of races is told of a fence and of an atomic instead of the accesses.
#ifdef __SANITIZE_THREAD__
#define GI_UNSEEN static __attribute__((no_sanitize("thread"), noinline))
#define GI_TELL(address, order, reach)                                                  \
  do {                                                                                  \
    if ((order) >= cuda::memory_order_release) gi_fence(reach);                         \
    gi_atomic((void *)(address), sizeof *(address), __builtin_return_address(0));       \
  } while (0)
#else
#define GI_UNSEEN static inline
#define GI_TELL(address, order, reach) ((void)(order), (void)(reach))
#endif

template <class T>
GI_UNSEEN T gi_atomic_read(const T *address, cuda::memory_order order, gi_reach reach) {
  GI_TELL(address, order, reach);
  return *address;
}

// What was there before; written is what the function makes of it.
template <class T, class F>
GI_UNSEEN T gi_atomic_change(T *address, F function, cuda::memory_order order, gi_reach reach) {
  GI_TELL(address, order, reach);
  T old = *address;
  *address = function(old);
  return old;
}
#undef GI_UNSEEN
#undef GI_TELL

namespace cuda {

// What atomic and atomic_ref have in common: where the value is, `Self` says.
template <class T, thread_scope Scope, class Self>
class gi_atomic_operations {
  static constexpr gi_reach kReach = Scope == thread_scope_block || Scope == thread_scope_thread ? GI_BLOCK : GI_DEVICE;
  T *at() const { return static_cast<const Self *>(this)->gi_address(); }
  template <class F>
  T change(F function, memory_order order) const {
    return gi_atomic_change(at(), function, order, kReach);
  }

 public:
  typedef T value_type;
  static constexpr bool is_always_lock_free = true;
  bool is_lock_free() const { return true; }

  T load(memory_order order = memory_order_seq_cst) const { return gi_atomic_read<T>(at(), order, kReach); }
  void store(T value, memory_order order = memory_order_seq_cst) const {
    change([=](T) { return value; }, order);
  }
  T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return change([=](T) { return value; }, order);
  }
  bool compare_exchange_strong(T &expected, T value, memory_order order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) const {
    T wanted = expected;
    expected = change([=](T old) { return __builtin_memcmp(&old, &wanted, sizeof old) ? old : value; }, order);
    return !__builtin_memcmp(&expected, &wanted, sizeof wanted);
  }
  bool compare_exchange_weak(T &expected, T value, memory_order order = memory_order_seq_cst,
                             memory_order = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, order);
  }
#define GI_FETCH(name, result)                                                                \
  T name(gi_plain<T> operand, memory_order order = memory_order_seq_cst) const {              \
    return change([=](T old) { return T(result); }, order);                                   \
  }
  GI_FETCH(fetch_add, old + operand)
  GI_FETCH(fetch_sub, old - operand)
  GI_FETCH(fetch_and, old &operand)
  GI_FETCH(fetch_or, old | operand)
  GI_FETCH(fetch_xor, old ^ operand)
  GI_FETCH(fetch_min, operand < old ? operand : old)
  GI_FETCH(fetch_max, old < operand ? operand : old)
#undef GI_FETCH
  void wait(T old, memory_order order = memory_order_seq_cst) const {
    while (load(order) == old) gi_yield();
  }
  void notify_one() const {}
  void notify_all() const {}

  operator T() const { return load(); }
  T operator=(T value) const { return store(value), value; }
  T operator++() const { return T(fetch_add(1) + 1); }
  T operator--() const { return T(fetch_sub(1) - 1); }
  T operator++(int) const { return fetch_add(1); }
  T operator--(int) const { return fetch_sub(1); }
  T operator+=(T operand) const { return T(fetch_add(operand) + operand); }
  T operator-=(T operand) const { return T(fetch_sub(operand) - operand); }
  T operator&=(T operand) const { return T(fetch_and(operand) & operand); }
  T operator|=(T operand) const { return T(fetch_or(operand) | operand); }
  T operator^=(T operand) const { return T(fetch_xor(operand) ^ operand); }
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public gi_atomic_operations<T, Scope, atomic_ref<T, Scope>> {
  T *address_;

 public:
  using gi_atomic_operations<T, Scope, atomic_ref<T, Scope>>::operator=;
  explicit atomic_ref(T &value) : address_(&value) {}
  T *gi_address() const { return address_; }
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic : public gi_atomic_operations<T, Scope, atomic<T, Scope>> {
  mutable T value_;

 public:
  using gi_atomic_operations<T, Scope, atomic<T, Scope>>::operator=;
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  T *gi_address() const { return &value_; }
};

static inline void atomic_thread_fence(memory_order, thread_scope scope = thread_scope_system) {
  scope == thread_scope_block ? __threadfence_block() : __threadfence();
}

namespace std {
template <class T>
using atomic = cuda::atomic<T>;
template <class T>
using atomic_ref = cuda::atomic_ref<T>;
}  // namespace std

}  // namespace cuda
