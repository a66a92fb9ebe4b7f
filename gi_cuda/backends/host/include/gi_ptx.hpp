// What inline PTX becomes (see the folder ptx).
#pragma once

#include "gi_cuda_host.hpp"
#include "gi_rounding.hpp"
#include "gi_simd.hpp"
#include "gi_small_floats.hpp"

// Bits as a value of another type: what is too much goes, what is missing is zero. Numbers keep their value.
template <class T, class V>
struct gi_taken {
  static T of(V bits) {
    T value = T();
    __builtin_memcpy(&value, &bits, sizeof(T) < sizeof(V) ? sizeof(T) : sizeof(V));
    return value;
  }
};
template <class T> struct gi_taken<T, T> {
  static T of(T value) { return value; }
};
template <> struct gi_taken<float, double> {  // a constant
  static float of(double value) { return float(value); }
};
template <class V> struct gi_taken<bool, V> {
  static bool of(V value) { return value != 0; }
};
template <> struct gi_taken<bool, bool> {
  static bool of(bool value) { return value; }
};
template <class T, class V>
static inline T gi_as(V bits) { return gi_taken<T, V>::of(bits); }

// A value into a register: signed integers are extended by their sign.
template <class R, class V>
struct gi_put {
  static R of(V value) { return R(value); }
};
template <> struct gi_put<uint32_t, float> { static uint32_t of(float x) { return __float_as_uint(x); } };
template <> struct gi_put<uint64_t, double> { static uint64_t of(double x) { return uint64_t(__double_as_longlong(x)); } };
template <> struct gi_put<float, uint32_t> { static float of(uint32_t x) { return __uint_as_float(x); } };
template <> struct gi_put<double, uint64_t> { static double of(uint64_t x) { return __longlong_as_double((long long)x); } };
template <class R, class V>
static inline void gi_ptx_set(R &to, V value) { to = gi_put<R, V>::of(value); }
struct gi_nobody {};
template <class V>
static inline void gi_ptx_set(gi_nobody, V) {}
// A register into the program's variable, which may be a pointer.
template <class T, class R>
static inline void gi_ptx_give(T &to, R value) { to = (T)value; }

static inline unsigned gi_ptx_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static inline unsigned gi_ptx_warp() { return gi_ptx_thread() / 32; }
static inline unsigned gi_ptx_warps() { return (blockDim.x * blockDim.y * blockDim.z + 31) / 32; }
static inline uint64_t gi_ptx_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

// An address in shared memory has 32 bits in PTX: those of the pointer that it was made of. There are two places where
// that can point to.
static inline uint64_t gi_ptx_shared(uint64_t address) {
  static const char anchor = 0;
  if (address >> 32) return address;
  const uint64_t dynamic = reinterpret_cast<uint64_t>(gi_dynamic_shared), fixed = reinterpret_cast<uint64_t>(&anchor);
  const uint32_t offset = uint32_t(address) - uint32_t(dynamic);
  return offset < 1u << 18 ? dynamic + offset : fixed + uint64_t(int64_t(int32_t(uint32_t(address) - uint32_t(fixed))));
}
static inline uint64_t gi_ptx_to_shared(uint64_t address) { return uint32_t(address); }
static inline size_t __cvta_generic_to_shared(const void *p) { return gi_ptx_to_shared(reinterpret_cast<uint64_t>(p)); }
static inline void *__cvta_shared_to_generic(size_t p) { return reinterpret_cast<void *>(gi_ptx_shared(p)); }
static inline size_t __cvta_generic_to_global(const void *p) { return reinterpret_cast<uint64_t>(p); }
static inline size_t __cvta_generic_to_constant(const void *p) { return reinterpret_cast<uint64_t>(p); }
static inline size_t __cvta_generic_to_local(const void *p) { return reinterpret_cast<uint64_t>(p); }
static inline void *__cvta_global_to_generic(size_t p) { return reinterpret_cast<void *>(p); }
static inline void *__cvta_constant_to_generic(size_t p) { return reinterpret_cast<void *>(p); }
static inline void *__cvta_local_to_generic(size_t p) { return reinterpret_cast<void *>(p); }
// An address that must be a multiple of what is moved there; where it is not, the access fails as one to nowhere.
static inline uint64_t gi_ptx_aligned(uint64_t address, unsigned bytes) {
  if (address % bytes) (void)*reinterpret_cast<volatile char *>(uint64_t(1) << 63);
  return address;
}
static inline void gi_ptx_copy(uint64_t to, uint64_t from, unsigned count, unsigned given) {
  unsigned char *target = reinterpret_cast<unsigned char *>(gi_ptx_aligned(to, count));
  const unsigned char *source = reinterpret_cast<const unsigned char *>(gi_ptx_aligned(from, count));
  for (unsigned at = 0; at < count; ++at) target[at] = at < given ? source[at] : 0;
}

// The carry stays from one instruction to the next, and the threads of a launch do not change between.
#define GI_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
static bool gi_ptx_carry;
GI_UNWATCHED static bool gi_ptx_carried() { return gi_ptx_carry; }
GI_UNWATCHED static void gi_ptx_carries(bool carry) { gi_ptx_carry = carry; }
#undef GI_UNWATCHED
template <class T, bool with, bool sets>
static inline T gi_ptx_add(T a, T b) {
  typedef unsigned __int128 W;
  const unsigned bits = 8 * sizeof(T);
  const W mask = (W(1) << bits) - 1, sum = (W(a) & mask) + (W(b) & mask) + (with ? gi_ptx_carried() : 0);
  if (sets) gi_ptx_carries(sum >> bits != 0);
  return T(sum);
}
template <class T, bool with, bool sets>
static inline T gi_ptx_subtract(T a, T b) {
  typedef unsigned __int128 W;
  const unsigned bits = 8 * sizeof(T);
  const W mask = (W(1) << bits) - 1, difference = (W(a) & mask) - (W(b) & mask) - (with ? gi_ptx_carried() : 0);
  if (sets) gi_ptx_carries((difference >> bits) != 0);
  return T(difference);
}

template <class T> struct gi_ptx_wider;
template <> struct gi_ptx_wider<int16_t> { typedef int32_t type; };
template <> struct gi_ptx_wider<uint16_t> { typedef uint32_t type; };
template <> struct gi_ptx_wider<int32_t> { typedef int64_t type; };
template <> struct gi_ptx_wider<uint32_t> { typedef uint64_t type; };
template <> struct gi_ptx_wider<int64_t> { typedef __int128 type; };
template <> struct gi_ptx_wider<uint64_t> { typedef unsigned __int128 type; };
template <class T>
static inline typename gi_ptx_wider<T>::type gi_ptx_multiply_wide(T a, T b) {
  return typename gi_ptx_wider<T>::type(a) * b;
}
template <class T> static inline T gi_ptx_multiply_lo(T a, T b) { return T(gi_ptx_multiply_wide<T>(a, b)); }
template <class T> static inline T gi_ptx_multiply_hi(T a, T b) {
  return T(gi_ptx_multiply_wide<T>(a, b) >> (8 * sizeof(T)));
}

static inline int32_t gi_ptx_multiply_24(int32_t a, int32_t b) { return __mul24(a, b); }
static inline uint32_t gi_ptx_multiply_24(uint32_t a, uint32_t b) { return __umul24(a, b); }

template <class T, class V>
static inline T gi_ptx_within(V value) {
  constexpr T least = T(-1) < 0 ? T(T(1) << (8 * sizeof(T) - 1)) : T(0), most = T(~least);
  return value < V(least) && V(least) < V(most) ? least : value > V(most) && V(least) < V(most) ? most : T(value);
}
template <class T> static inline T gi_ptx_size(T x) { return x < 0 ? T(-x) : x; }
template <> inline float gi_ptx_size<float>(float x) { return __builtin_fabsf(x); }
template <> inline double gi_ptx_size<double>(double x) { return __builtin_fabs(x); }
template <class T> static inline T gi_ptx_difference(T a, T b) { return a < b ? T(b - a) : T(a - b); }
template <class T> static inline T gi_ptx_not(T x) { return T(~x); }
static inline bool gi_ptx_not(bool x) { return !x; }
template <class T> static inline bool gi_ptx_unordered(T a, T b) { return a != a || b != b; }

template <class T> static inline T gi_ptx_left(T x, unsigned by) { return by < 8 * sizeof(T) ? T(x << by) : T(0); }
template <class T> static inline T gi_ptx_right(T x, unsigned by) {
  return by < 8 * sizeof(T) ? T(x >> by) : T(x < 0 ? -1 : 0);
}
static inline uint32_t gi_ptx_zeros(uint32_t x) { return uint32_t(__clz(int(x))); }
static inline uint32_t gi_ptx_zeros(uint64_t x) { return uint32_t(__clzll((long long)x)); }
static inline uint32_t gi_ptx_reversed(uint32_t x) { return __brev(x); }
static inline uint64_t gi_ptx_reversed(uint64_t x) { return __brevll(x); }
template <class T> static inline uint32_t gi_ptx_find_shift(T x) {
  const uint64_t bits = uint64_t(x < 0 ? ~x : x) << (64 - 8 * sizeof(T));
  return bits ? uint32_t(__clzll((long long)bits)) : ~0u;
}
template <class T> static inline uint32_t gi_ptx_find(T x) {
  const uint32_t zeros = gi_ptx_find_shift(x);
  return zeros == ~0u ? zeros : uint32_t(8 * sizeof(T) - 1) - zeros;
}
template <class T>
static inline T gi_ptx_field(T x, unsigned begin, unsigned size) {
  const unsigned bits = 8 * sizeof(T);
  begin &= 255;
  size &= 255;
  if (!size) return 0;
  // Beyond the end all bits are the sign, of the field or of the whole.
  T shifted = gi_ptx_right(x, begin);
  return size >= bits ? shifted : T(T(uint64_t(shifted) << (bits - size)) >> (bits - size));
}
template <class T>
static inline T gi_ptx_insert(T field, T into, unsigned begin, unsigned size) {
  const unsigned bits = 8 * sizeof(T);
  begin &= 255;
  size &= 255;
  if (!size || begin >= bits) return into;
  const T mask = T((size >= bits ? ~T(0) : T((T(1) << size) - 1)) << begin);
  return T((into & ~mask) | (T(field << begin) & mask));
}
static inline uint32_t gi_ptx_logic(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned row = 0; row < 8; ++row)
    if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  return result;
}
static inline uint32_t gi_ptx_permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned at = 0; at < 4; ++at) {
    const uint32_t choice = selector >> 4 * at & 15;
    uint32_t byte = uint32_t(bytes >> 8 * (choice & 7)) & 255;
    if (choice & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * at;
  }
  return result;
}
// A function of floats of 16 bits, of which registers hold one or two.
template <class F, class Function, class... Bits>
static inline uint16_t gi_ptx_small(Function function, Bits... bits) {
  return function(gi_small<F>::bits(bits)...).__x;
}
template <class F, class Function, class... Bits>
static inline uint32_t gi_ptx_smalls(Function function, Bits... bits) {
  return gi_ptx_small<F>(function, bits...) | uint32_t(gi_ptx_small<F>(function, (bits >> 16)...)) << 16;
}
template <class F>
static inline uint32_t gi_ptx_pair(float low, float high) { return F::narrowed(low) | F::narrowed(high) << 16; }

// As PTX defines shfl.sync: `c` says how warps are cut into segments, and where lanes end.
#define GI_PTX_SHUFFLE(how, other, in)                                                                        \
  static inline uint32_t gi_ptx_shuffle_##how(uint32_t x, uint32_t b, uint32_t c, uint32_t mask, bool *inside) { \
    const int lane = int(gi_lane()), cut = int(c >> 8 & 31), by = int(b & 31), end = int(c & 31);             \
    const int first = lane & cut, last = first | (end & ~cut), source = (other);                             \
    (void)by, (void)last;                                                                                     \
    *inside = (in);                                                                                           \
    return __shfl_sync(mask, x, *inside ? source : lane);                                                     \
  }
GI_PTX_SHUFFLE(up, lane - by, source >= last)
GI_PTX_SHUFFLE(down, lane + by, source <= last)
GI_PTX_SHUFFLE(bfly, lane ^ by, source <= last)
GI_PTX_SHUFFLE(idx, first | (by & ~cut), source <= last)
#undef GI_PTX_SHUFFLE
