// CUDA's built-in vector types, with the device's alignments.
#pragma once

#define GI_VECTORS(name, type)                                                                   \
  struct name##1 {                                                                               \
    type x;                                                                                      \
  };                                                                                             \
  struct alignas(2 * sizeof(type)) name##2 {                                                     \
    type x, y;                                                                                   \
  };                                                                                             \
  struct name##3 {                                                                               \
    type x, y, z;                                                                                \
  };                                                                                             \
  struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 {                        \
    type x, y, z, w;                                                                             \
  };                                                                                             \
  static inline name##1 make_##name##1(type x) { return {x}; }                                   \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                        \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }             \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

GI_VECTORS(char, signed char)
GI_VECTORS(uchar, unsigned char)
GI_VECTORS(short, short)
GI_VECTORS(ushort, unsigned short)
GI_VECTORS(int, int)
GI_VECTORS(uint, unsigned)
GI_VECTORS(long, long)
GI_VECTORS(ulong, unsigned long)
GI_VECTORS(longlong, long long)
GI_VECTORS(ulonglong, unsigned long long)
GI_VECTORS(float, float)
GI_VECTORS(double, double)

#undef GI_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
