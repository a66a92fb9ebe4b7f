// What the tool itself runs on the device, between the launches of variants.

#include "../protocol/agreement.hpp"

// One stretch of memory to look at: equal to another stretch, as good as it, or filled with a word.
struct Check {
  unsigned char *memory;
  const unsigned char *expected;  // null: the word, wherever it is aligned to four bytes
  unsigned long long bytes;
  unsigned word;
  unsigned mended;  // whether what is not as it should be is made so
  GiRule rule;      // when a value of it is as good as expected; without values, all bytes are to be the same
};

static __device__ bool as_expected(const Check &check, unsigned long long at) {
  unsigned char *byte = check.memory + at;
  unsigned place = 8 * ((unsigned long long)byte & 3);
  unsigned char wanted = check.expected ? check.expected[at] : (unsigned char)(check.word >> place);
  if (*byte == wanted) return true;
  if (check.mended) *byte = wanted;
  return false;
}

static __device__ bool as_expected(const Check &check, unsigned long long at, unsigned long long) {
  uint4 *piece = (uint4 *)(check.memory + at), found = *piece;
  uint4 wanted = make_uint4(check.word, check.word, check.word, check.word);
  if (check.expected) wanted = *(const uint4 *)(check.expected + at);
  if (found.x == wanted.x && found.y == wanted.y && found.z == wanted.z && found.w == wanted.w)
    return true;
  if (check.mended) *piece = wanted;
  return false;
}

constexpr unsigned long long kNowhere = ~0ull;

// The first byte of the first of a thread's share of values that is not as good as expected. Where values lie one behind
// the other, nearly all are passed over as pieces of 16 bytes that are the same.
static __device__ unsigned long long first_wrong(const Check &check, unsigned long long first, unsigned long long step) {
  const GiRule rule = check.rule;
  const unsigned char *got = check.memory, *want = check.expected;
  unsigned long long pieces = rule.item == rule.width ? rule.values * rule.width / 16 : 0;
  if (((unsigned long long)got | (unsigned long long)want) & 15) pieces = 0;
  unsigned each = 16 / rule.width;
  for (unsigned long long i = first; i < pieces; i += step) {
    uint4 a = ((const uint4 *)got)[i], b = ((const uint4 *)want)[i];
    if (a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w) continue;
    for (unsigned long long at = 16 * i; at < 16 * (i + 1); at += rule.width)
      if (!gi_agrees(rule, gi_bits(got + at, rule.width), gi_bits(want + at, rule.width))) return at;
  }
  for (unsigned long long i = pieces * each + first; i < rule.values; i += step) {
    unsigned long long at = gi_place(rule, i);
    if (!gi_agrees(rule, gi_bits(got + at, rule.width), gi_bits(want + at, rule.width))) return at;
  }
  return kNowhere;
}

constexpr unsigned long long kStretch = 1ull << 20;  // STRETCH in device/memory.py

// Sets found[i] where some of what check i looks at is not as it should be; of values that have a rule, to the complement
// of the number of the first stretch in which there is one.
// Grid: any number of blocks in x, one for each check in y.
extern "C" __global__ void gi_check(const Check *checks, unsigned *found) {
  const Check check = checks[blockIdx.y];
  unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  unsigned long long step = gridDim.x * (unsigned long long)blockDim.x;
  unsigned long long lead = -(unsigned long long)check.memory & 15;
  if (check.rule.values) {
    unsigned long long at = first_wrong(check, first, step);
    if (at != kNowhere) atomicMax(&found[blockIdx.y], ~(unsigned)(at / kStretch));
    return;
  }
  if (check.expected && (((unsigned long long)check.expected + lead) & 15)) lead = check.bytes;
  if (lead > check.bytes) lead = check.bytes;
  unsigned long long middle = (check.bytes - lead) / 16;
  unsigned count = 0;
  for (unsigned long long i = first; i < lead; i += step) count += !as_expected(check, i);
  for (unsigned long long i = first; i < middle; i += step)
    count += !as_expected(check, lead + 16 * i, 16);
  for (unsigned long long i = lead + 16 * middle + first; i < check.bytes; i += step)
    count += !as_expected(check, i);
  if (count) found[blockIdx.y] = 1;
}

// Fills the shared memory of a multiprocessor. With as many blocks as multiprocessors, each taking
// all of the shared memory, every block stays until all have arrived: no multiprocessor is missed.
extern "C" __global__ void gi_scrub(unsigned word, unsigned words, unsigned *arrived, unsigned goal) {
  extern __shared__ unsigned shared[];
  volatile unsigned *memory = shared;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) memory[i] = word;
  __syncthreads();
  if (threadIdx.x) return;
  long long begun = clock64();
  atomicAdd(arrived, 1u);
  // Not for ever: other work on the device may keep a block away.
  while ((int)(*(volatile unsigned *)arrived - goal) < 0 && clock64() - begun < 100000) {
  }
}

// Begins a run of confined launches (see ptx/confine.py): past so many nanoseconds from now their
// threads leave. No sign is there yet.
extern "C" __global__ void gi_begin(unsigned long long *deadline, unsigned long long nanoseconds,
                                    unsigned signs, unsigned word) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  *deadline = now + nanoseconds;
  unsigned *sign = (unsigned *)(deadline + 1);
  for (unsigned i = 0; i < signs; ++i) sign[i] = word;
}
