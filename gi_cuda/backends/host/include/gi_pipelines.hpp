// Pipelines of copies and those who use what was copied, as libcu++ has them. Copies are done when they are asked for.
#pragma once

#include "gi_arrivals.hpp"

namespace cuda {

enum class pipeline_role { producer, consumer };

// How many threads have filled, and have left, each of the stages, since the beginning.
template <thread_scope Scope, uint8_t Stages>
class pipeline_shared_state {
 public:
  atomic<unsigned, Scope> gi_filled[Stages], gi_left[Stages];
  unsigned gi_producers, gi_consumers;
  static constexpr unsigned gi_stages = Stages;
};

template <thread_scope Scope>
class pipeline {
 public:
  // Alone, and so never waiting.
  pipeline() = default;
  template <uint8_t Stages>
  explicit pipeline(pipeline_shared_state<Scope, Stages> *state)
      : filled_(state->gi_filled), left_(state->gi_left), stages_(Stages), producers_(state->gi_producers),
        consumers_(state->gi_consumers) {}

  void producer_acquire() { await(left_, produced_, consumers_ * (stages_ ? produced_ / stages_ : 0)); }
  void producer_commit() {
    arrive(filled_, produced_);
    ++produced_;
  }
  void consumer_wait() { await(filled_, consumed_, producers_ * (stages_ ? consumed_ / stages_ + 1 : 0)); }
  template <class Duration>
  bool consumer_wait_for(const Duration &) {
    return consumer_wait(), true;
  }
  void consumer_release() {
    arrive(left_, consumed_);
    ++consumed_;
  }
  bool quit() { return true; }

 private:
  typedef atomic<unsigned, Scope> Counter;
  void await(const Counter *counters, unsigned batch, unsigned wanted) const {
    while (stages_ && counters[batch % stages_].load(memory_order_acquire) < wanted) gi_yield();
  }
  void arrive(const Counter *counters, unsigned batch) const {
    if (stages_) counters[batch % stages_].fetch_add(1, memory_order_release);
  }

  const Counter *filled_ = nullptr, *left_ = nullptr;
  unsigned stages_ = 0, producers_ = 0, consumers_ = 0, produced_ = 0, consumed_ = 0;
};

static inline pipeline<thread_scope_thread> make_pipeline() { return pipeline<thread_scope_thread>(); }

template <class Group, thread_scope Scope, uint8_t Stages>
static inline pipeline<Scope> gi_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                          unsigned producers, unsigned consumers) {
  if (group.thread_rank() == 0) {
    for (auto &counter : state->gi_filled) counter.store(0, memory_order_relaxed);
    for (auto &counter : state->gi_left) counter.store(0, memory_order_relaxed);
    state->gi_producers = producers, state->gi_consumers = consumers;
  }
  group.sync();
  return pipeline<Scope>(state);
}
template <class Group, thread_scope Scope, uint8_t Stages>
static inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state) {
  return gi_pipeline(group, state, unsigned(group.size()), unsigned(group.size()));
}
template <class Group, thread_scope Scope, uint8_t Stages>
static inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                            size_t producers) {
  return gi_pipeline(group, state, unsigned(producers), unsigned(group.size() - producers));
}
template <class Group, thread_scope Scope, uint8_t Stages>
static inline pipeline<Scope> make_pipeline(const Group &group, pipeline_shared_state<Scope, Stages> *state,
                                            pipeline_role role) {
  if (group.thread_rank() == 0) state->gi_producers = 0;
  group.sync();
  if (role == pipeline_role::producer) atomic_ref<unsigned, Scope>(state->gi_producers).fetch_add(1);
  group.sync();
  unsigned producers = state->gi_producers;
  group.sync();
  return gi_pipeline(group, state, producers, unsigned(group.size()) - producers);
}

template <uint8_t Prior>
static inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread> &) {}

// The last argument, a pipeline or a barrier, is what a device tells of the end.
struct gi_one {
  static unsigned thread_rank() { return 0; }
  static unsigned size() { return 1; }
};
template <class T, class Bytes, class End>
static inline void memcpy_async(T *to, const T *from, const Bytes &bytes, End &) {
  gi_copy_by(gi_one(), to, from, size_t(bytes));
}
template <class Group, class T, class Bytes, class End>
static inline void memcpy_async(const Group &group, T *to, const T *from, const Bytes &bytes, End &) {
  gi_copy_by(group, to, from, size_t(bytes));
}

}  // namespace cuda

static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  gi_copy_by(cuda::gi_one(), to, from, bytes - zeros);
  for (size_t i = bytes - zeros; i < bytes; ++i) static_cast<unsigned char *>(to)[i] = 0;
}
static inline void __pipeline_commit() {}
static inline void __pipeline_wait_prior(size_t) {}
