// Texture and surface objects, and what CUDA fetches from them and writes to them.
#pragma once

#include "gi_runtime.hpp"
#include "gi_vectors.hpp"

typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t, CUtexObject, CUsurfObject;

template <class T>
struct gi_fetched {
  static_assert(sizeof(T) == 0, "textures give numbers of 8, 16 and 32 bits, alone or as vectors of 1, 2 or 4");
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

// Fetches by coordinates. There is one level of detail, and so one for all.
#define GI_SAMPLED(name, dimensions, layered, parameters, x, y, z, layer)                                  \
  template <class T>                                                                                      \
  static inline T name(cudaTextureObject_t object, GI_ALL parameters) {                                   \
    const float place[3] = {x, y, z};                                                                     \
    return gi_fetched<T>::of(gi_sample(object, {#name, dimensions, layered}, gi_fetched<T>::format, place, layer)); \
  }                                                                                                       \
  template <class T>                                                                                      \
  static inline void name(T *value, cudaTextureObject_t object, GI_ALL parameters) {                      \
    const float place[3] = {x, y, z};                                                                     \
    *value = gi_fetched<T>::of(gi_sample(object, {#name, dimensions, layered}, gi_fetched<T>::format, place, layer)); \
  }
#define GI_ALL(...) __VA_ARGS__
GI_SAMPLED(tex1D, 1, false, (float x), x, 0, 0, 0)
GI_SAMPLED(tex1DLod, 1, false, (float x, float), x, 0, 0, 0)
GI_SAMPLED(tex1DGrad, 1, false, (float x, float, float), x, 0, 0, 0)
GI_SAMPLED(tex1DLayered, 1, true, (float x, int layer), x, 0, 0, layer)
GI_SAMPLED(tex1DLayeredLod, 1, true, (float x, int layer, float), x, 0, 0, layer)
GI_SAMPLED(tex2D, 2, false, (float x, float y), x, y, 0, 0)
GI_SAMPLED(tex2DLod, 2, false, (float x, float y, float), x, y, 0, 0)
GI_SAMPLED(tex2DGrad, 2, false, (float x, float y, float2, float2), x, y, 0, 0)
GI_SAMPLED(tex2DLayered, 2, true, (float x, float y, int layer), x, y, 0, layer)
GI_SAMPLED(tex2DLayeredLod, 2, true, (float x, float y, int layer, float), x, y, 0, layer)
GI_SAMPLED(tex3D, 3, false, (float x, float y, float z), x, y, z, 0)
GI_SAMPLED(tex3DLod, 3, false, (float x, float y, float z, float), x, y, z, 0)
GI_SAMPLED(tex3DGrad, 3, false, (float x, float y, float z, float4, float4), x, y, z, 0)
#undef GI_SAMPLED

template <class T>
static inline T tex2Dgather(cudaTextureObject_t object, float x, float y, int component = 0) {
  const float place[2] = {x, y};
  return gi_fetched<T>::of(gi_gather(object, {"tex2Dgather", 2, false}, gi_fetched<T>::format, place, unsigned(component)));
}
template <class T>
static inline void tex2Dgather(T *value, cudaTextureObject_t object, float x, float y, int component = 0) {
  *value = tex2Dgather<T>(object, x, y, component);
}

enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

// x counts bytes.
#define GI_SURFACE(name, dimensions, layered, parameters, x, y, z, layer)                                      \
  template <class T>                                                                                           \
  static inline T name##read(cudaSurfaceObject_t object, GI_ALL parameters,                                     \
                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                            \
    const int place[3] = {x, y, z};                                                                            \
    const void *at = gi_surface_at(object, {#name "read", dimensions, layered}, sizeof(T), place, layer, mode); \
    return at ? *static_cast<const T *>(at) : T();                                                             \
  }                                                                                                            \
  template <class T>                                                                                           \
  static inline void name##read(T *value, cudaSurfaceObject_t object, GI_ALL parameters,                        \
                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
    const int place[3] = {x, y, z};                                                                            \
    const void *at = gi_surface_at(object, {#name "read", dimensions, layered}, sizeof(T), place, layer, mode); \
    *value = at ? *static_cast<const T *>(at) : T();                                                           \
  }                                                                                                            \
  template <class T>                                                                                           \
  static inline void name##write(T value, cudaSurfaceObject_t object, GI_ALL parameters,                        \
                                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                        \
    const int place[3] = {x, y, z};                                                                            \
    void *at = gi_surface_at(object, {#name "write", dimensions, layered}, sizeof(T), place, layer, mode);      \
    if (at) *static_cast<T *>(at) = value;                                                                     \
  }
GI_SURFACE(surf1D, 1, false, (int x), x, 0, 0, 0)
GI_SURFACE(surf1DLayered, 1, true, (int x, int layer), x, 0, 0, layer)
GI_SURFACE(surf2D, 2, false, (int x, int y), x, y, 0, 0)
GI_SURFACE(surf2DLayered, 2, true, (int x, int y, int layer), x, y, 0, layer)
GI_SURFACE(surf3D, 3, false, (int x, int y, int z), x, y, z, 0)
#undef GI_SURFACE
#undef GI_ALL

// What host code beside kernels makes them of, as far as it is declared at the level of the file.
enum cudaTextureAddressMode {
  cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat, cudaChannelFormatKindNone
};
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};
struct cudaExtent {
  size_t width, height, depth;
};
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;

// Gone with CUDA 12, from nvcc too.
enum { cudaTextureType1D = 1, cudaTextureType2D = 2, cudaTextureType3D = 3 };
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct texture {
  static_assert(sizeof(T) == 0,
                "texture references are gone since CUDA 12: pass the kernel a cudaTextureObject_t, or a pointer");
};
