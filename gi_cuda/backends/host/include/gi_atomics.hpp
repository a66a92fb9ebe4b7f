// Atomic functions. Threads change only where they wait, so a plain read and write is atomic.
#pragma once

#include "gi_runtime.hpp"

// In watched code the detector of races is told of them instead of the read and the write.
#ifdef __SANITIZE_THREAD__
#define GI_ATOMIC_FUNCTION static __attribute__((no_sanitize("thread"), noinline))
#define GI_TELL(address) gi_atomic((void *)address, sizeof *address, __builtin_return_address(0))
#else
#define GI_ATOMIC_FUNCTION static inline
#define GI_TELL(address) (void)0
#endif

// Each also in the forms that say for whom it is atomic.
#define GI_ATOMIC(function, type, value)   \
  GI_ATOMIC_ONE(function, type, value)     \
  GI_ATOMIC_ONE(function##_block, type, value) \
  GI_ATOMIC_ONE(function##_system, type, value)
#define GI_ATOMIC_ONE(function, type, value)                      \
  GI_ATOMIC_FUNCTION type function(type *address, type operand) { \
    GI_TELL(address);                                             \
    type old = *address;                                          \
    *address = (value);                                           \
    return old;                                                   \
  }
#define GI_ATOMIC_INTEGERS(function, value)      \
  GI_ATOMIC(function, int, value)                \
  GI_ATOMIC(function, unsigned, value)           \
  GI_ATOMIC(function, unsigned long long, value)

GI_ATOMIC_INTEGERS(atomicAdd, old + operand)
GI_ATOMIC(atomicAdd, float, old + operand)
GI_ATOMIC(atomicAdd, double, old + operand)
GI_ATOMIC(atomicSub, int, old - operand)
GI_ATOMIC(atomicSub, unsigned, old - operand)
GI_ATOMIC_INTEGERS(atomicExch, operand)
GI_ATOMIC(atomicExch, float, operand)
GI_ATOMIC_INTEGERS(atomicMin, operand < old ? operand : old)
GI_ATOMIC_INTEGERS(atomicMax, operand > old ? operand : old)
GI_ATOMIC(atomicMin, long long, operand < old ? operand : old)
GI_ATOMIC(atomicMax, long long, operand > old ? operand : old)
GI_ATOMIC_INTEGERS(atomicAnd, old & operand)
GI_ATOMIC(atomicAnd, long long, old & operand)
GI_ATOMIC(atomicOr, long long, old | operand)
GI_ATOMIC(atomicXor, long long, old ^ operand)
GI_ATOMIC_INTEGERS(atomicOr, old | operand)
GI_ATOMIC_INTEGERS(atomicXor, old ^ operand)
GI_ATOMIC(atomicInc, unsigned, old >= operand ? 0 : old + 1)
GI_ATOMIC(atomicDec, unsigned, old == 0 || old > operand ? operand : old - 1)

#undef GI_ATOMIC_INTEGERS

#define GI_ATOMIC_CAS(type)        \
  GI_ATOMIC_CAS_ONE(atomicCAS, type) \
  GI_ATOMIC_CAS_ONE(atomicCAS_block, type) \
  GI_ATOMIC_CAS_ONE(atomicCAS_system, type)
#define GI_ATOMIC_CAS_ONE(function, type)                                        \
  GI_ATOMIC_FUNCTION type function(type *address, type compare, type operand) { \
    GI_TELL(address);                                                            \
    type old = *address;                                                         \
    if (old == compare) *address = operand;                                      \
    return old;                                                                  \
  }

GI_ATOMIC_CAS(int)
GI_ATOMIC_CAS(unsigned)
GI_ATOMIC_CAS(unsigned long long)
GI_ATOMIC_CAS(unsigned short)

#undef GI_ATOMIC_CAS
#undef GI_ATOMIC_CAS_ONE
#undef GI_TELL
