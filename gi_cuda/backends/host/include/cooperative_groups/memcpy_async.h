// Stands for CUDA's header of this name in device code. Copies are done when they are asked for; other threads may
// rely on them once they waited, as on a device.
#pragma once
#include "../gi_async_copy.hpp"
#include "../gi_groups.hpp"

namespace cooperative_groups {

template <class Group, class T, class Bytes>
static inline void memcpy_async(const Group &group, T *to, const T *from, const Bytes &bytes) {
  gi_copy_by(group, to, from, size_t(bytes));
}
template <class Group, class T, class ToCount, class FromCount>
static inline void memcpy_async(const Group &group, T *to, const ToCount &to_count, const T *from,
                                const FromCount &from_count) {
  size_t room = size_t(to_count), given = size_t(from_count);
  gi_copy_by(group, to, from, (room < given ? room : given) * sizeof(T));
}
template <class Group>
static inline void wait(const Group &group) {
  group.sync();
}
template <unsigned Stage, class Group>
static inline void wait_prior(const Group &group) {
  group.sync();
}

}  // namespace cooperative_groups
