// Stands for CUDA's header of this name: cuRAND's host functions, so that host code beside kernels compiles.
#pragma once
#include "gi_cuda_host.hpp"

enum curandStatus { CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_NOT_INITIALIZED = 101 };
typedef curandStatus curandStatus_t;
enum curandRngType {
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201
};
typedef curandRngType curandRngType_t;
typedef struct curandGenerator_st *curandGenerator_t;

#define GI_CURAND(name)                             \
  template <class... T>                             \
  static inline curandStatus_t name(const T &...) { \
    return CURAND_STATUS_NOT_INITIALIZED;           \
  }
GI_CURAND(curandCreateGenerator) GI_CURAND(curandCreateGeneratorHost) GI_CURAND(curandDestroyGenerator)
GI_CURAND(curandSetPseudoRandomGeneratorSeed) GI_CURAND(curandSetGeneratorOffset) GI_CURAND(curandSetStream)
GI_CURAND(curandGenerate) GI_CURAND(curandGenerateUniform) GI_CURAND(curandGenerateUniformDouble)
GI_CURAND(curandGenerateNormal) GI_CURAND(curandGenerateNormalDouble) GI_CURAND(curandGenerateLogNormal)
GI_CURAND(curandGeneratePoisson) GI_CURAND(curandGenerateSeeds)
#undef GI_CURAND
