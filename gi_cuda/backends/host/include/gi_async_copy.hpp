// Copies that a device does beside other work. Here they are done when they are asked for.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace cuda {

// A number of bytes, and what it and both addresses are multiples of.
template <size_t Alignment>
struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  explicit aligned_size_t(size_t bytes) : value(bytes) {}
  operator size_t() const { return value; }
};

}  // namespace cuda

template <class Unit, class Group>
static inline bool gi_copy_units(const Group &group, void *to, const void *from, size_t bytes) {
  if ((uintptr_t(to) | uintptr_t(from) | bytes) % sizeof(Unit)) return false;
  Unit *target = static_cast<Unit *>(to);
  const Unit *source = static_cast<const Unit *>(from);
  for (size_t i = group.thread_rank(); i < bytes / sizeof(Unit); i += group.size()) target[i] = source[i];
  return true;
}

// Each thread of the group copies its part.
template <class Group>
static inline void gi_copy_by(const Group &group, void *to, const void *from, size_t bytes) {
  gi_copy_units<unsigned __int128>(group, to, from, bytes) || gi_copy_units<uint64_t>(group, to, from, bytes) ||
      gi_copy_units<uint32_t>(group, to, from, bytes) || gi_copy_units<unsigned char>(group, to, from, bytes);
}
