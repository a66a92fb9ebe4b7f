// CUDA's words on a CPU: what device code needs to be compiled by g++ or clang++ and run by gi-cuda's host runtime.
//
// Read once per batch, so it includes next to nothing. What is preprocessed goes on saying `__shared__`, so that is
// left to what follows:
//
//   #define __shared__ GI_SHARED
//   namespace { namespace v17 {
//   ...
//   } }
//   #undef __shared__
//   GI_EXPORT(v17, match, v17::match)
#pragma once

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
// Its function of this name tells the process's time, not the device's.
#define clock gi_processor_time
#include <time.h>
#undef clock

#include "gi_atomics.hpp"
#include "gi_atomic_builtins.hpp"
#include "gi_host_api.hpp"
#include "gi_math.hpp"
#include "gi_runtime.hpp"
#include "gi_vectors.hpp"
#include "gi_warp.hpp"

// Functions that are the same in several variants of a batch are compiled once where they are GI_COMMON (see common.py),
// and nowhere else.
#if defined(__clang__)
#define __global__
#define __device__
#define GI_COMMON
#else
#define __global__ __attribute__((no_icf))
#define __device__ __attribute__((no_icf))
#define GI_COMMON __attribute__((noclone))
#endif
#define GI_NOT_INLINED __attribute__((noinline))
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __block_size__(...)
#define __forceinline__ inline __attribute__((always_inline))
// Headers of the standard library say `__attribute__((__noinline__))`; in front of variants it becomes what it is.
#define __noinline__
#define __align__(bytes) __attribute__((aligned(bytes)))

// Not to be evaluated, as nvcc does not.
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

// Constant for a thread, and so for the compiler.
extern "C" {
extern const uint3 threadIdx __asm__("gi_thread_index");
extern const uint3 blockIdx __asm__("gi_block_index");
extern const uint3 blockDim __asm__("gi_block_size");
extern const uint3 gridDim __asm__("gi_grid_size");
extern unsigned char *const gi_dynamic_shared;

int printf(const char *, ...);
int snprintf(char *, size_t, const char *, ...) noexcept;
void *malloc(size_t) noexcept;
void free(void *) noexcept;
// Watched code tells of what it does by itself; for these two it takes others.
#ifdef __SANITIZE_THREAD__
void *memcpy(void *, const void *, size_t) noexcept __asm__("gi_watched_memcpy");
void *memset(void *, int, size_t) noexcept __asm__("gi_watched_memset");
#else
void *memcpy(void *, const void *, size_t) noexcept;
void *memset(void *, int, size_t) noexcept;
#endif
}
constexpr int warpSize = 32;

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;

// Counts the iterations of an instrumented loop.
static inline bool gi_loop(unsigned loop, unsigned iterations) {
  if (iterations > gi_loop_most[loop]) gi_loop_most[loop] = iterations;
  return true;
}

// Tells whether the compiler knows a value.
#define gi_known(...) __builtin_constant_p(__VA_ARGS__)

static inline void __trap() { __builtin_trap(); }
static inline void __brkpt() { __builtin_trap(); }

#if defined(__x86_64__)
static inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
#else
static inline long long clock64() {
  long long ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#endif
template <int = 0>  // <time.h> has a plain function of this name
static inline clock_t clock() {
  return clock_t(clock64());
}

// Loads and stores with cache hints are plain ones.
#define GI_LOAD(name)                        \
  template <class T>                         \
  static inline T name(const T *address) {   \
    return *address;                         \
  }
GI_LOAD(__ldg) GI_LOAD(__ldca) GI_LOAD(__ldcg) GI_LOAD(__ldcs) GI_LOAD(__ldcv) GI_LOAD(__ldlu)
#undef GI_LOAD
// The address alone decides the type, as the value converts to that of the element.
template <class T> struct gi_element { using type = T; };
#define GI_STORE(name)                                                          \
  template <class T>                                                            \
  static inline void name(T *address, typename gi_element<T>::type value) {     \
    *address = value;                                                           \
  }
GI_STORE(__stwb) GI_STORE(__stcg) GI_STORE(__stcs) GI_STORE(__stwt)
#undef GI_STORE

// In the section `.noinit` (see static_shared.py). `used`: the runtime writes to it (poison) where the compiler cannot see.
#if defined(__clang__)
#define GI_SHARED static __attribute__((section(".noinit"), used))
#else
#define GI_SHARED static __attribute__((noinit, used))
#endif

// The first argument of launch bounds, whatever integer it is.
template <class Most, class... Others>
constexpr size_t gi_most_threads(Most most, Others...) {
  return (size_t)most;
}
// Refuses blocks of more threads. What template arguments make of bounds is known in the kernel's body only, so its first
// thread is refused, before it does anything. A device heeds no bound of 0, and has no blocks of more than 1024.
template <size_t Most>
static inline __attribute__((always_inline)) void gi_within_bounds() {
  if (Most && Most < 1024 && __builtin_expect(blockDim.x * blockDim.y * blockDim.z > Most, 0))
    gi_beyond_bounds(unsigned(Most));
}
// What is no constant there names a parameter, which hides a constant of its name: how large blocks may be is not known.
#define GI_LAUNCH_BOUNDS(...) \
  gi_within_bounds<__builtin_constant_p(gi_most_threads(__VA_ARGS__)) ? gi_most_threads(__VA_ARGS__) : 0>();

// Calls a kernel with arguments as cuLaunchKernel takes them. One for all kernels of a signature.
template <class... P>
struct gi_caller {
  struct call {
    call(void (*kernel)(P...), P... values) { kernel(values...); }
  };
  static void run(void (*function)(), void **arguments) {
    (void)arguments;
    // Elements of a braced list are evaluated in order.
    call{reinterpret_cast<void (*)(P...)>(function), *static_cast<P *>(*arguments++)...};
  }
  static const unsigned sizes[sizeof...(P) + 1];
  static const gi_signature signature;
};
template <class... P>
const unsigned gi_caller<P...>::sizes[sizeof...(P) + 1] = {unsigned(sizeof(P))..., 0};
template <class... P>
const gi_signature gi_caller<P...>::signature = {run, sizeof...(P), sizes};

template <class... P>
static constexpr const gi_signature *gi_signature_of(void (*)(P...)) {
  return &gi_caller<P...>::signature;
}

// Makes a kernel known as gi_kernel_<variant>_<name>. The third argument may be a template's instance.
#define GI_EXPORT(variant, name, ...)                                                                             \
  extern "C" {                                                                                                    \
  extern const gi_kernel gi_kernel_##variant##_##name __attribute__((visibility("default")));                     \
  const gi_kernel gi_kernel_##variant##_##name = {reinterpret_cast<void (*)()>(&__VA_ARGS__),                     \
                                                  gi_signature_of(&__VA_ARGS__), nullptr, 0, nullptr};            \
  }

// Makes a __constant__ or __device__ variable known as gi_symbol_<variant>_<name>.
#define GI_SYMBOL(variant, name, ...)                                                         \
  extern "C" {                                                                                \
  extern const gi_symbol gi_symbol_##variant##_##name __attribute__((visibility("default"))); \
  const gi_symbol gi_symbol_##variant##_##name = {(void *)&__VA_ARGS__, sizeof(__VA_ARGS__)}; \
  }
