#pragma once
#include <cstdio>
#include <algorithm>
#define CUDA_CHECK(x) do { cudaError_t err_ = (x); if (err_ != cudaSuccess) { printf("%s\n", cudaGetErrorString(err_)); std::abort(); } } while (0)
inline int divUp(int a, int b) { return (a + b - 1) / b; }
struct Timer { cudaEvent_t a, b; void start() { cudaEventCreate(&a); cudaEventRecord(a, 0); } float stop() { float ms; cudaEventElapsedTime(&ms, a, b); return ms; } };
