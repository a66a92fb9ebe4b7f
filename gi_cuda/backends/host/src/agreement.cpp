// Outputs beside those of the reference, value by value.

#include "../../protocol/agreement.hpp"

#include <string.h>

#include "internal.hpp"

namespace {

constexpr unsigned long long kBlock = 1 << 12;  // values

template <typename Rule>
uint64_t first_among(const Rule &rule, const unsigned char *got, const unsigned char *want, uint64_t from, uint64_t to) {
  for (; from < to; ++from) {
    const uint64_t at = gi_place(rule, from);
    if (!gi_agrees(rule, gi_bits(got + at, rule.width), gi_bits(want + at, rule.width))) break;
  }
  return from;
}

// With what is known of most outputs: it is a third of the work.
uint64_t first_of_floats(const GiRule &rule, const unsigned char *got, const unsigned char *want, uint64_t from,
                         uint64_t to) {
  GiRule known = rule;
  known.item = known.width = 4, known.at = 0, known.count = 1, known.allowed = kNear, known.numbers = kFloat;
  return first_among(known, got, want, from, to);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// The number of the first value that is not as good as the reference's; that of all where there is none.
uint64_t gi_first_wrong(const GiRule *rule, const unsigned char *got, const unsigned char *want) {
  const bool plain = rule->item == rule->width;
  const bool floats = plain && rule->width == 4 && rule->allowed == kNear && rule->numbers == kFloat;
  for (uint64_t from = 0; from < rule->values; from += kBlock) {
    const uint64_t to = from + kBlock < rule->values ? from + kBlock : rule->values;
    const uint64_t begin = from * rule->width;
    if (plain && !memcmp(got + begin, want + begin, (to - from) * rule->width)) continue;
    const uint64_t found = (floats ? first_of_floats : first_among<GiRule>)(*rule, got, want, from, to);
    if (found < to) return found;
  }
  return rule->values;
}

}  // extern "C"
#pragma GCC visibility pop
