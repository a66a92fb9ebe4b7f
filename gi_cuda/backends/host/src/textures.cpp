// Textures, and fetches from them that are more than a load: conversions, and refusals.

#include <stdio.h>
#include <string.h>

#include "internal.hpp"

namespace gi {
namespace {

constexpr unsigned number_of(unsigned format) { return format & 0xff; }
constexpr unsigned bits_of(unsigned format) { return format >> 8 & 0xff; }
constexpr unsigned components_of(unsigned format) { return format >> 16 & 0xff; }
constexpr bool is_normalized(unsigned format) { return format >> 24; }

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

__attribute__((noreturn)) void refuse_object(uint64_t object) {
  char text[80];
  snprintf(text, sizeof text, "tex1Dfetch of 0x%llx, which is no texture object", (unsigned long long)object);
  end_launch(GI_BAD_FETCH, text);
}

__attribute__((noreturn)) void refuse_type(const gi_texture &texture, unsigned wanted) {
  char text[200];
  snprintf(text, sizeof text, "tex1Dfetch<%s> of the texture '%s', whose texels are %s%s", Name(wanted).text,
           texture.name, Name(texture.format).text, is_normalized(texture.format) ? ", read as normalized floats" : "");
  end_launch(GI_BAD_FETCH, text);
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
  if (object - GI_TEXTURE_FIRST >= gi_texture_count) refuse_object(object);
  const gi_texture &texture = gi_textures[object - GI_TEXTURE_FIRST];
  unsigned components = components_of(texture.format);
  bool gives_floats = number_of(texture.format) == GI_FLOAT || is_normalized(texture.format);
  if (gives_floats != (number_of(wanted) == GI_FLOAT) || components_of(wanted) > components)
    refuse_type(texture, wanted);
  gi_texel texel = {};
  if (unsigned(index) < texture.count)
    for (unsigned i = 0; i < components; ++i)
      texel.component[i] = component_at(texture, size_t(unsigned(index)) * components + i);
  return texel;
}

uint64_t gi_texture_object(const void *texels, size_t bytes, unsigned format, const char *name) {
  if (gi_texture_count == GI_TEXTURES) return 0;
  gi_texture &texture = gi_textures[gi_texture_count];
  texture.texels = texels;
  texture.count = bytes / (bits_of(format) / 8 * components_of(format));
  if (texture.count > uint64_t(1) << 31) texture.count = uint64_t(1) << 31;
  texture.format = format;
  snprintf(texture.name, sizeof texture.name, "%s", name);
  return GI_TEXTURE_FIRST + gi_texture_count++;
}
}
