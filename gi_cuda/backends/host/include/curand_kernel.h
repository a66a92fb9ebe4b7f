// Stands for CUDA's header of this name: cuRAND's generators XORWOW (Marsaglia's) and Philox-4x32-10 (Salmon's), with
// the same numbers for the same seeds.
#pragma once
#include "curand.h"
#include "gi_special.hpp"

struct curandStateXORWOW {
  unsigned d, v[5];
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState;
typedef curandStateXORWOW curandState_t;

static inline unsigned curand(curandStateXORWOW *state) {
  unsigned *v = state->v, t = v[0] ^ v[0] >> 2;
  for (int i = 0; i < 4; ++i) v[i] = v[i + 1];
  v[4] = v[4] ^ v[4] << 4 ^ t ^ t << 1;
  state->d += 362437;
  return v[4] + state->d;
}
static inline void skipahead(unsigned long long count, curandStateXORWOW *state) {
  gi_xorwow_skip(state->v, count, 0);
  state->d += 362437u * unsigned(count);
}
static inline void skipahead_sequence(unsigned long long count, curandStateXORWOW *state) {
  gi_xorwow_skip(state->v, 0, count);  // a sequence has 2^67 numbers, so that d is the same again
}
static inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                               curandStateXORWOW *state) {
  const unsigned low = 1099087573u * (unsigned(seed) ^ 0xaad26b49u);
  const unsigned high = 2591861531u * (unsigned(seed >> 32) ^ 0xf7dcefddu);
  state->d = 6615241u + high + low;
  state->v[0] = 123456789u + low;
  state->v[1] = 362436069u ^ low;
  state->v[2] = 521288629u + high;
  state->v[3] = 88675123u ^ high;
  state->v[4] = 5783321u + low;
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
  state->boxmuller_flag = state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

static inline uint4 curand_Philox4x32_10(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t(0xD2511F53u) * c.x, right = uint64_t(0xCD9E8D57u) * c.z;
    c = {unsigned(right >> 32) ^ c.y ^ key.x, unsigned(right), unsigned(left >> 32) ^ c.w ^ key.y, unsigned(left)};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return c;
}
static inline void gi_philox_forward(curandStatePhilox4_32_10 *state, unsigned __int128 blocks) {
  uint4 &c = state->ctr;
  unsigned __int128 at = (unsigned __int128)c.w << 96 | (unsigned __int128)c.z << 64 | uint64_t(c.y) << 32 | c.x;
  at += blocks;
  c = {unsigned(at), unsigned(at >> 32), unsigned(at >> 64), unsigned(at >> 96)};
  state->output = curand_Philox4x32_10(c, state->key);
}
static inline void skipahead(unsigned long long count, curandStatePhilox4_32_10 *state) {
  const unsigned place = state->STATE + unsigned(count & 3);
  state->STATE = place & 3;
  gi_philox_forward(state, (unsigned __int128)(count / 4) + place / 4);
}
static inline void skipahead_sequence(unsigned long long count, curandStatePhilox4_32_10 *state) {
  gi_philox_forward(state, (unsigned __int128)count << 64);
}
static inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                               curandStatePhilox4_32_10 *state) {
  *state = curandStatePhilox4_32_10();
  state->key = {unsigned(seed), unsigned(seed >> 32)};
  skipahead_sequence(sequence, state);
  skipahead(offset, state);
}
static inline unsigned curand(curandStatePhilox4_32_10 *state) {
  const unsigned four[] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned number = four[state->STATE & 3];
  skipahead(1, state);
  return number;
}
static inline uint4 curand4(curandStatePhilox4_32_10 *state) {
  unsigned four[4];
  for (unsigned &number : four) number = curand(state);
  return {four[0], four[1], four[2], four[3]};
}

// From bits to numbers: those in the middle of 2^32 or 2^53 equal parts.
static inline float gi_uniform(unsigned x) { return float(x) * 0x1p-32f + 0x1p-33f; }
static inline double gi_uniform_double(unsigned x, unsigned y) {
  return double(uint64_t(x) ^ uint64_t(y) << 21) * 0x1p-53 + 0x1p-54;
}
static inline float2 gi_normal(unsigned x, unsigned y) {
  const float turn = 6.2831855f * 0x1p-32f, length = sqrtf(-2.0f * logf(gi_uniform(x)));
  float2 two;
  sincosf(float(y) * turn + turn / 2, &two.x, &two.y);
  return {two.x * length, two.y * length};
}
static inline double2 gi_normal_double(unsigned a, unsigned b, unsigned c, unsigned d) {
  const double length = sqrt(-2.0 * log(gi_uniform_double(a, b)));
  double2 two;
  sincospi(double(uint64_t(c) ^ uint64_t(d) << 21) * 0x1p-52 + 0x1p-53, &two.x, &two.y);
  return {two.x * length, two.y * length};
}

template <class S> static inline float curand_uniform(S *state) { return gi_uniform(curand(state)); }
static inline double curand_uniform_double(curandStateXORWOW *state) {
  const unsigned x = curand(state), y = curand(state);
  return gi_uniform_double(x, y);
}
static inline double curand_uniform_double(curandStatePhilox4_32_10 *state) {
  return double(curand(state)) * 0x1p-32 + 0x1p-32;  // of one number, which cuRAND moves up by all of a part
}
template <class S> static inline float2 curand_normal2(S *state) {
  const unsigned x = curand(state), y = curand(state);
  return gi_normal(x, y);
}
template <class S> static inline double2 curand_normal2_double(S *state) {
  const unsigned a = curand(state), b = curand(state), c = curand(state), d = curand(state);
  return gi_normal_double(a, b, c, d);
}
// Normal numbers come in pairs; the second one waits in the state.
template <class S> static inline float curand_normal(S *state) {
  const bool waits = state->boxmuller_flag != 0;
  const float waiting = state->boxmuller_extra;
  state->boxmuller_flag = !waits;
  if (waits) return waiting;
  const float2 two = curand_normal2(state);
  state->boxmuller_extra = two.y;
  return two.x;
}
template <class S> static inline double curand_normal_double(S *state) {
  const bool waits = state->boxmuller_flag_double != 0;
  const double waiting = state->boxmuller_extra_double;
  state->boxmuller_flag_double = !waits;
  if (waits) return waiting;
  const double2 two = curand_normal2_double(state);
  state->boxmuller_extra_double = two.y;
  return two.x;
}
template <class S> static inline float curand_log_normal(S *state, float mean, float deviation) {
  return expf(mean + deviation * curand_normal(state));
}
template <class S> static inline double curand_log_normal_double(S *state, double mean, double deviation) {
  return exp(mean + deviation * curand_normal_double(state));
}
template <class S> static inline float2 curand_log_normal2(S *state, float mean, float deviation) {
  const float2 two = curand_normal2(state);
  return {expf(mean + deviation * two.x), expf(mean + deviation * two.y)};
}
static inline float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
  const uint4 four = curand4(state);
  return {gi_uniform(four.x), gi_uniform(four.y), gi_uniform(four.z), gi_uniform(four.w)};
}
static inline double2 curand_uniform2_double(curandStatePhilox4_32_10 *state) {
  const uint4 four = curand4(state);
  return {gi_uniform_double(four.x, four.y), gi_uniform_double(four.z, four.w)};
}
static inline float4 curand_normal4(curandStatePhilox4_32_10 *state) {
  const uint4 four = curand4(state);
  const float2 first = gi_normal(four.x, four.y), second = gi_normal(four.z, four.w);
  return {first.x, first.y, second.x, second.y};
}
