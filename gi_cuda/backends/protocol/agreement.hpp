// When a value of an output is as good as the reference's. Compiled for devices and for the host, so that both say the
// same; what is good here is so by spec/oracles/compare.py as well, whose formulas these are.
#pragma once

#ifdef __CUDACC__
#define GI_EITHER static __device__ __forceinline__
#else
#define GI_EITHER static inline
#endif

// Rounded twice: no product and sum become one operation.
GI_EITHER double gi_scaled(double size, double relative, double absolute) {
#ifdef __CUDACC__
  return __dadd_rn(__dmul_rn(size, relative), absolute);
#else
  return size * relative + absolute;  // compiled with -ffp-contract=off
#endif
}

enum GiAllowed : unsigned { kNear = 1, kUndefined, kDefined, kFinite };      // spec/oracles/rules.py
enum GiNumbers : unsigned { kSigned, kUnsigned, kFloat, kSmall };            // kSmall: spec/numbers.py

// protocol/agreement.py fills it.
struct GiRule {
  double absolute, relative;
  unsigned long long values;  // how many
  unsigned long long item;    // bytes from one struct to the next; of plain values their width
  unsigned at, count;         // the first byte in a struct, and how many lie there
  unsigned width;             // bytes of a value
  GiAllowed allowed;          // of a value that has not the bits of the reference's; 0: nothing
  GiNumbers numbers;
  unsigned mantissa, bias, most, infinite;  // of small floats
};

GI_EITHER unsigned long long gi_place(const GiRule &rule, unsigned long long value) {
  if (rule.count == 1) return value * rule.item + rule.at;
  return value / rule.count * rule.item + rule.at + value % rule.count * rule.width;
}

// Little-endian, wherever it lies.
GI_EITHER unsigned long long gi_bits(const unsigned char *at, unsigned width) {
  if (!((unsigned long long)at & (width - 1))) {
    if (width == 4) return *(const unsigned *)at;
    if (width == 8) return *(const unsigned long long *)at;
    if (width == 2) return *(const unsigned short *)at;
  }
  unsigned long long bits = 0;
  for (unsigned i = 0; i < width; ++i) bits |= (unsigned long long)at[i] << 8 * i;
  return bits;
}

template <typename To, typename From>
GI_EITHER To gi_as(From bits) {
  union {
    From from;
    To to;
  } either;
  either.from = bits;
  return either.to;
}

GI_EITHER double gi_infinity() { return gi_as<double>(0x7FF0000000000000ull); }

GI_EITHER double gi_small(const GiRule &rule, unsigned code) {
  unsigned sign = 1u << (8 * rule.width - 1), half = code & (sign - 1);
  double size;
  if (half <= rule.most) {
    unsigned exponent = half >> rule.mantissa, rest = half & ((1u << rule.mantissa) - 1);
    unsigned whole = rest + ((exponent ? 1u : 0u) << rule.mantissa);
    unsigned power = 1023 + (exponent ? exponent : 1) - rule.bias - rule.mantissa;
    size = whole * gi_as<double>((unsigned long long)power << 52);
  } else {
    size = half == rule.most + 1 && rule.infinite ? gi_infinity() : gi_as<double>(0x7FF8000000000000ull);
  }
  return code & sign ? -size : size;
}

GI_EITHER long long gi_extended(unsigned long long bits, unsigned width) {
  unsigned unused = 64 - 8 * width;
  return (long long)(bits << unused) >> unused;
}

GI_EITHER double gi_value(const GiRule &rule, unsigned long long bits) {
  if (rule.numbers == kSigned) return (double)gi_extended(bits, rule.width);
  if (rule.numbers == kUnsigned) return (double)bits;
  if (rule.numbers == kSmall) return gi_small(rule, (unsigned)bits);
  return rule.width == 4 ? (double)gi_as<float>((unsigned)bits) : gi_as<double>(bits);
}

// |got - want|, of integers without wrapping round or losing low digits.
GI_EITHER double gi_distance(const GiRule &rule, unsigned long long got, unsigned long long want) {
  if (rule.numbers == kUnsigned) return (double)(got < want ? want - got : got - want);
  if (rule.numbers == kSigned) {
    long long a = gi_extended(got, rule.width), b = gi_extended(want, rule.width);
    return (double)(a < b ? (unsigned long long)b - (unsigned long long)a : (unsigned long long)a - (unsigned long long)b);
  }
  double away = gi_value(rule, got) - gi_value(rule, want);
  return away < 0 ? -away : away;
}

// Whether a real number of the reference is what fills memory before a launch: UNWRITTEN of spec/oracles/compare.py.
GI_EITHER bool gi_unwritten(const GiRule &rule, unsigned long long want) {
  const unsigned long long word = 0xFFFDA5A5u;
  return rule.numbers == kFloat && want == (rule.width == 8 ? word << 32 | word : word);
}

GI_EITHER bool gi_agrees(const GiRule &rule, unsigned long long got, unsigned long long want) {
  if (got == want) return true;
  const double a = gi_value(rule, got), b = gi_value(rule, want), infinity = gi_infinity();
  switch (rule.allowed) {
    case kUndefined: return a != a && b != b && !gi_unwritten(rule, want);
    case kDefined: return a == a || b != b;
    case kFinite: return (a - a == 0) || !(b - b == 0);
    case kNear: {
      if (a != a || b != b) return a != a && b != b && !gi_unwritten(rule, want);
      double limit = gi_scaled(b < 0 ? -b : b, rule.relative, rule.absolute);
      // An infinite reference allows nothing but itself.
      return limit != infinity && gi_distance(rule, got, want) <= limit;
    }
  }
  return false;
}
