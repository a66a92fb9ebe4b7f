// 1-D texture objects over linear memory, and what CUDA fetches from them.
#pragma once

#include "gi_runtime.hpp"
#include "gi_vectors.hpp"

typedef unsigned long long cudaTextureObject_t;

template <class T>
struct gi_fetched {
  static_assert(sizeof(T) == 0, "tex1Dfetch gives numbers of 8, 16 and 32 bits, alone or as vectors of 1, 2 or 4");
};

template <class T>
static inline T gi_component(uint32_t bits) {
  return T(bits);
}
template <>
inline float gi_component<float>(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

#define GI_FETCHED(type, part, number, components, ...)                                        \
  template <>                                                                                  \
  struct gi_fetched<type> {                                                                    \
    typedef part P;                                                                            \
    static constexpr unsigned format = gi_format(number, 8 * sizeof(part), components);        \
    static type of(const gi_texel &texel) {                                                    \
      const uint32_t *c = texel.component;                                                     \
      return {__VA_ARGS__};                                                                    \
    }                                                                                          \
  };
#define GI_FETCHED_VECTORS(name, part, number)                                                 \
  GI_FETCHED(name##1, part, number, 1, gi_component<P>(c[0]))                                  \
  GI_FETCHED(name##2, part, number, 2, gi_component<P>(c[0]), gi_component<P>(c[1]))           \
  GI_FETCHED(name##4, part, number, 4, gi_component<P>(c[0]), gi_component<P>(c[1]),           \
             gi_component<P>(c[2]), gi_component<P>(c[3]))
#define GI_FETCHED_TYPE(name, part, number)                   \
  GI_FETCHED(part, part, number, 1, gi_component<P>(c[0]))    \
  GI_FETCHED_VECTORS(name, part, number)

GI_FETCHED(char, char, char(-1) < 0 ? GI_SIGNED : GI_UNSIGNED, 1, gi_component<P>(c[0]))
GI_FETCHED_TYPE(char, signed char, GI_SIGNED)
GI_FETCHED_TYPE(uchar, unsigned char, GI_UNSIGNED)
GI_FETCHED_TYPE(short, short, GI_SIGNED)
GI_FETCHED_TYPE(ushort, unsigned short, GI_UNSIGNED)
GI_FETCHED_TYPE(int, int, GI_SIGNED)
GI_FETCHED_TYPE(uint, unsigned, GI_UNSIGNED)
GI_FETCHED_TYPE(float, float, GI_FLOAT)

#undef GI_FETCHED_TYPE
#undef GI_FETCHED_VECTORS
#undef GI_FETCHED

// Outside its texels a linear texture is zero.
template <class T>
static inline T tex1Dfetch(cudaTextureObject_t object, int index) {
  const uint64_t place = object - GI_TEXTURE_FIRST;
  if (place < gi_texture_count && gi_textures[place].format == gi_fetched<T>::format) {
    const gi_texture &texture = gi_textures[place];
    return unsigned(index) < texture.count ? static_cast<const T *>(texture.texels)[unsigned(index)] : T();
  }
  return gi_fetched<T>::of(gi_fetch(object, index, gi_fetched<T>::format));
}
template <class T>
static inline void tex1Dfetch(T *value, cudaTextureObject_t object, int index) {
  *value = tex1Dfetch<T>(object, index);
}

// Gone with CUDA 12, from nvcc too.
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum { cudaTextureType1D = 1, cudaTextureType2D = 2, cudaTextureType3D = 3 };
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture {
  static_assert(sizeof(T) == 0,
                "texture references are gone since CUDA 12: pass the kernel a cudaTextureObject_t, or a pointer");
};
