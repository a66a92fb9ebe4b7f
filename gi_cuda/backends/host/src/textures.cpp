// Textures, and fetches from them that are more than a load: conversions, places between texels, and refusals. Surfaces.

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <algorithm>

#include "internal.hpp"

namespace gi {
namespace {

constexpr unsigned number_of(unsigned format) { return format & 0xff; }
constexpr unsigned bits_of(unsigned format) { return format >> 8 & 0xff; }
constexpr unsigned components_of(unsigned format) { return format >> 16 & 0xff; }
constexpr bool is_normalized(unsigned format) { return format >> 24 & 1; }
constexpr unsigned dimensions_of(unsigned format) { return format >> GI_DIMENSIONS; }

// CUDA's name of a type, e.g. uchar4.
struct Name {
  explicit Name(unsigned format) {
    const char *integer = bits_of(format) == 8 ? "char" : bits_of(format) == 16 ? "short" : "int";
    const char *real = bits_of(format) == 16 ? "half" : "float";
    unsigned number = number_of(format), components = components_of(format);
    snprintf(text, sizeof text, "%s%s%s", number == GI_UNSIGNED ? "u" : "", number == GI_FLOAT ? real : integer,
             components == 4 ? "4" : components == 2 ? "2" : "");
  }
  char text[16];
};

constexpr gi_fetch_kind LINEAR = {"tex1Dfetch", 0, false};

__attribute__((noreturn)) void refuse_object(gi_fetch_kind kind, uint64_t object) {
  bool surface = kind.name[0] == 's';
  char text[120];
  snprintf(text, sizeof text, "%s of 0x%llx, which is no %s object", kind.name, (unsigned long long)object,
           surface ? "surface" : "texture");
  end_launch(GI_BAD_FETCH, text);
}

__attribute__((noreturn)) void refuse_shape(const gi_texture &texture, gi_fetch_kind kind) {
  char shape[40];
  unsigned dimensions = dimensions_of(texture.format);
  if (dimensions)
    snprintf(shape, sizeof shape, "has %u dimension%s%s", dimensions, dimensions > 1 ? "s" : "",
             texture.layers ? " and layers" : "");
  else
    snprintf(shape, sizeof shape, "is linear");
  char text[200];
  snprintf(text, sizeof text, "%s of the %s '%s', which %s", kind.name, texture.surface ? "surface" : "texture",
           texture.name, shape);
  end_launch(GI_BAD_FETCH, text);
}

__attribute__((noreturn)) void refuse_type(const gi_texture &texture, gi_fetch_kind kind, unsigned wanted) {
  char text[200];
  snprintf(text, sizeof text, "%s<%s> of the texture '%s', whose texels are %s%s", kind.name, Name(wanted).text,
           texture.name, Name(texture.format).text, is_normalized(texture.format) ? ", read as normalized floats" : "");
  end_launch(GI_BAD_FETCH, text);
}

bool gives_floats(const gi_texture &texture) {
  return number_of(texture.format) == GI_FLOAT || is_normalized(texture.format);
}

// The texture or surface of an object, which a function of this kind can use.
const gi_texture &known(uint64_t object, gi_fetch_kind kind) {
  bool surface = kind.name[0] == 's';
  uint64_t place = object - GI_TEXTURE_FIRST;
  if (place >= gi_texture_count || gi_textures[place].surface != surface) refuse_object(kind, object);
  const gi_texture &texture = gi_textures[place];
  if (dimensions_of(texture.format) != kind.dimensions || (texture.layers != 0) != kind.layered)
    refuse_shape(texture, kind);
  return texture;
}

const gi_texture &known(uint64_t object, gi_fetch_kind kind, unsigned wanted, unsigned components) {
  const gi_texture &texture = known(object, kind);
  if (gives_floats(texture) != (number_of(wanted) == GI_FLOAT) || components > components_of(texture.format))
    refuse_type(texture, kind, wanted);
  return texture;
}

uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// A half's value, exactly: its exponent is moved, by a product where it may be the smallest one.
float from_half(uint16_t half) {
  uint32_t magnitude = uint32_t(half & 0x7fff) << 13, sign = uint32_t(half & 0x8000) << 16;
  float value;
  if (magnitude >= 0x7c00u << 13) {
    magnitude |= 0x7f800000u;  // infinity, NaN
    memcpy(&value, &magnitude, sizeof value);
  } else {
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f;
  }
  return sign ? -value : value;
}

template <class T>
T at(const gi_texture &texture, size_t place) {
  return static_cast<const T *>(texture.texels)[place];
}

// An integer of a texture, extended to 32 bits.
int32_t integer_at(const gi_texture &texture, size_t place) {
  bool is_signed = number_of(texture.format) == GI_SIGNED;
  switch (bits_of(texture.format)) {
    case 8: return is_signed ? at<int8_t>(texture, place) : at<uint8_t>(texture, place);
    case 16: return is_signed ? at<int16_t>(texture, place) : at<uint16_t>(texture, place);
    default: return at<int32_t>(texture, place);
  }
}

// From 0 to 1, or from -1 to 1, where the least integer gives what its successor gives.
float normalized(int32_t integer, unsigned format) {
  bool is_signed = number_of(format) == GI_SIGNED;
  float value = float(integer) / float((1u << (bits_of(format) - is_signed)) - 1);
  return value < -1 ? -1 : value;
}

uint32_t component_at(const gi_texture &texture, size_t place) {
  if (number_of(texture.format) == GI_FLOAT)
    return bits_of_float(bits_of(texture.format) == 16 ? from_half(at<uint16_t>(texture, place))
                                                       : at<float>(texture, place));
  int32_t integer = integer_at(texture, place);
  return is_normalized(texture.format) ? bits_of_float(normalized(integer, texture.format)) : uint32_t(integer);
}

float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

constexpr int64_t OUTSIDE = -1;

// The texel, of so many in a row, that one outside stands for.
int64_t addressed(int64_t index, int64_t size, gi_address mode) {
  if (index >= 0 && index < size) return index;
  if (mode == GI_CLAMP) return index < 0 ? 0 : size - 1;
  if (mode == GI_BORDER) return OUTSIDE;
  int64_t period = mode == GI_MIRROR ? 2 * size : size;
  index %= period;
  if (index < 0) index += period;
  return index < size ? index : period - 1 - index;
}

// Texels on both sides of a place in one dimension, and how far it is on the way to the second, in 256ths.
struct Between {
  int64_t first, second;
  unsigned way;
};

// As "Texture Fetching" in CUDA's programming guide has it.
Between between(const gi_texture &texture, int dimension, float coordinate, bool filtered) {
  int64_t size = texture.size[dimension];
  gi_address mode = texture.address[dimension];
  if (texture.normalized) {
    float whole = floorf(coordinate);
    if (mode == GI_WRAP) coordinate -= whole;
    if (mode == GI_MIRROR) coordinate = fmodf(whole, 2) == 0 ? coordinate - whole : 1 - (coordinate - whole);
    coordinate *= float(size);
  } else if (mode == GI_WRAP || mode == GI_MIRROR) {
    mode = GI_CLAMP;
  }
  if (!(coordinate > -1e9f)) coordinate = -1e9f;  // a NaN as well
  if (coordinate > 4e9f) coordinate = 4e9f;
  double place = filtered ? double(coordinate) - 0.5 : double(coordinate);
  double below = floor(place);
  int64_t index = int64_t(below);
  // Nine bits, eight of them behind the point, so that 1 can be.
  unsigned way = filtered ? unsigned((place - below) * 256 + 0.5) : 0;
  return {addressed(index, size, mode), addressed(index + 1, size, mode), way};
}

int64_t texel_at(const gi_texture &texture, int64_t x, int64_t y, int64_t z) {
  return x < 0 || y < 0 || z < 0 ? OUTSIDE : (z * texture.size[1] + y) * texture.size[0] + x;
}

uint32_t component_of(const gi_texture &texture, int64_t texel, unsigned component) {
  return texel < 0 ? 0 : component_at(texture, size_t(texel) * components_of(texture.format) + component);
}

// PTX takes the index as unsigned: below the first layer is the last one.
int64_t layer_of(const gi_texture &texture, int layer) { return std::min(unsigned(layer), texture.layers - 1); }

}  // namespace
}  // namespace gi

using namespace gi;

#pragma GCC visibility push(default)
extern "C" {
gi_texture gi_textures[GI_TEXTURES];
unsigned gi_texture_count;
}
#pragma GCC visibility pop

extern "C" {

gi_texel gi_fetch(uint64_t object, int index, unsigned wanted) {
  const gi_texture &texture = known(object, LINEAR, wanted, components_of(wanted));
  unsigned components = components_of(texture.format);
  gi_texel texel = {};
  if (unsigned(index) < texture.count)
    for (unsigned i = 0; i < components; ++i)
      texel.component[i] = component_at(texture, size_t(unsigned(index)) * components + i);
  return texel;
}

gi_texel gi_sample(uint64_t object, gi_fetch_kind kind, unsigned wanted, const float place[3], int layer) {
  const gi_texture &texture = known(object, kind, wanted, components_of(wanted));
  unsigned components = components_of(texture.format);
  Between at[3] = {};
  for (int i = 0; i < kind.dimensions; ++i) at[i] = between(texture, i, place[i], texture.linear);
  if (kind.layered) at[2].first = layer_of(texture, layer);
  gi_texel texel = {};
  if (!texture.linear) {
    int64_t found = texel_at(texture, at[0].first, at[1].first, at[2].first);
    for (unsigned i = 0; i < components; ++i) texel.component[i] = component_of(texture, found, i);
    return texel;
  }
  float sums[4] = {};
  for (unsigned corner = 0; corner < 1u << kind.dimensions; ++corner) {
    int64_t index[3] = {0, 0, at[2].first};
    float weight = 1;
    for (int i = 0; i < kind.dimensions; ++i) {
      bool second = corner >> i & 1;
      index[i] = second ? at[i].second : at[i].first;
      weight *= float(second ? at[i].way : 256 - at[i].way) / 256;
    }
    int64_t found = texel_at(texture, index[0], index[1], index[2]);
    // Without a share it is not looked at: infinity times zero is no number.
    if (weight != 0)
      for (unsigned i = 0; i < components; ++i) sums[i] += weight * float_of_bits(component_of(texture, found, i));
  }
  for (unsigned i = 0; i < components; ++i) texel.component[i] = bits_of_float(sums[i]);
  return texel;
}

gi_texel gi_gather(uint64_t object, gi_fetch_kind kind, unsigned wanted, const float place[2], unsigned component) {
  const gi_texture &texture = known(object, kind, wanted, component + 1);
  Between x = between(texture, 0, place[0], true), y = between(texture, 1, place[1], true);
  return {{component_of(texture, texel_at(texture, x.first, y.second, 0), component),
           component_of(texture, texel_at(texture, x.second, y.second, 0), component),
           component_of(texture, texel_at(texture, x.second, y.first, 0), component),
           component_of(texture, texel_at(texture, x.first, y.first, 0), component)}};
}

void *gi_surface_at(uint64_t object, gi_fetch_kind kind, unsigned bytes, const int place[3], int layer, int mode) {
  const gi_texture &surface = known(object, kind);
  int64_t row = int64_t(surface.size[0]) * (bits_of(surface.format) / 8 * components_of(surface.format));
  int64_t at[3] = {place[0], place[1], kind.layered ? layer : place[2]};
  int64_t most[3] = {row - bytes, int64_t(surface.size[1]) - 1, int64_t(surface.size[2]) - 1};
  bool inside = at[0] % bytes == 0;
  for (int i = 0; i < 3; ++i) inside = inside && at[i] >= 0 && at[i] <= most[i];
  if (!inside && mode == 0) return nullptr;
  if (!inside && mode != 1) {
    char text[200];
    snprintf(text, sizeof text, "%s of %u bytes beyond the surface '%s', at byte %lld of row %lld, depth %lld",
             kind.name, bytes, surface.name, (long long)at[0], (long long)at[1], (long long)at[2]);
    end_launch(GI_BAD_FETCH, text);
  }
  for (int i = 0; i < 3; ++i) at[i] = at[i] < 0 ? 0 : at[i] > most[i] ? most[i] : at[i];
  at[0] -= at[0] % bytes;
  if (most[0] < 0) return nullptr;
  return static_cast<char *>(surface.texels) + (at[2] * surface.size[1] + at[1]) * row + at[0];
}

uint64_t gi_texture_object(const gi_texture *texture) {
  if (gi_texture_count == GI_TEXTURES) return 0;
  gi_textures[gi_texture_count] = *texture;
  return GI_TEXTURE_FIRST + gi_texture_count++;
}
}
