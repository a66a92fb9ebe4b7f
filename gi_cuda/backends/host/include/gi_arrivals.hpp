// Barriers at which threads arrive and wait in two steps, as libcu++ has them.
#pragma once

#include <utility>  // tokens are moved

#include "gi_async_copy.hpp"
#include "gi_atomic_objects.hpp"

namespace cuda {

struct gi_nothing {
  void operator()() const {}
};

template <thread_scope Scope = thread_scope_system, class Completion = gi_nothing>
class barrier {
  atomic<unsigned, Scope> phase_;
  atomic<int, Scope> missing_;
  int expected_;
  Completion completion_;

 public:
  typedef unsigned arrival_token;

  barrier() = default;
  barrier(ptrdiff_t expected, Completion completion = Completion())
      : phase_(0), missing_(int(expected)), expected_(int(expected)), completion_(completion) {}
  barrier(const barrier &) = delete;
  static constexpr ptrdiff_t max() { return 0xfffff; }

  arrival_token arrive(ptrdiff_t update = 1) {
    unsigned phase = phase_.load(memory_order_relaxed);
    if (missing_.fetch_sub(int(update), memory_order_acq_rel) == update) {
      completion_();
      missing_.store(expected_, memory_order_relaxed);
      phase_.store(phase + 1, memory_order_release);
    }
    return phase;
  }
  void wait(arrival_token &&phase) const {
    while (phase_.load(memory_order_acquire) == phase) gi_yield();
  }
  bool try_wait(arrival_token &&phase) const {
    if (phase_.load(memory_order_acquire) == phase) gi_yield();
    return phase_.load(memory_order_acquire) != phase;
  }
  void wait_parity(bool parity) const {
    while ((phase_.load(memory_order_acquire) & 1) == unsigned(parity)) gi_yield();
  }
  void arrive_and_wait() { wait(arrive()); }
  void arrive_and_drop() {
    --expected_;
    arrive();
  }

  friend void init(barrier *made, ptrdiff_t expected, Completion completion = Completion()) {
    made->phase_.store(0, memory_order_relaxed);
    made->missing_.store(int(expected), memory_order_relaxed);
    made->expected_ = int(expected);
    __builtin_memcpy((void *)&made->completion_, (void *)&completion, sizeof completion);
  }
};

}  // namespace cuda
