// A small emulation of CUDA on one processor core, independent of gi-cuda's host back end.
// Each thread of a block is a fibre that runs until its next barrier. TRUTH_ORDER chooses which
// fibre runs first (0: the first, 1: the last, 2: a random one), so that most missing barriers
// give wrong answers under one of the orders.
#pragma once

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <ucontext.h>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#ifdef TRUTH_TEMPLATES  // static variables of templates cannot lie in a section of their own
#define __shared__ static
#else
#define __shared__ static __attribute__((section("truth_shared")))
extern "C" char __start_truth_shared[] __attribute__((weak));
extern "C" char __stop_truth_shared[] __attribute__((weak));
#endif

struct dim3 {
    unsigned int x, y, z;
    dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1) : x(a), y(b), z(c) {}
};
struct float3 { float x, y, z; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace truth {

constexpr int WARP = 32;
constexpr size_t STACK = 32768;
constexpr size_t DYNAMIC = 65536;

enum State { READY, AT_BLOCK, AT_WARP, DONE };

struct Fibre {
    State state;
    bool entered;
    dim3 index;
    ucontext_t context;
    jmp_buf here;
    std::vector<char> stack = std::vector<char>(STACK);
    char value[16];
    int voted;
};

inline std::vector<Fibre> fibres;
inline int current, threads;
inline jmp_buf scheduler;
inline const std::function<void()> *body;
inline dim3 grid_dim, block_dim, block_index;
inline char *dynamic;
inline int order;
inline bool stuck, overrun;

inline void enter()
{
    (*body)();
    fibres[current].state = DONE;
    _longjmp(scheduler, 1);
}

inline void wait(State state)
{
    Fibre &me = fibres[current];
    me.state = state;
    if (_setjmp(me.here) == 0)
        _longjmp(scheduler, 1);
}

inline void resume(int number)
{
    Fibre &fibre = fibres[number];
    current = number;
    if (_setjmp(scheduler) != 0)
        return;
    if (fibre.entered)
        _longjmp(fibre.here, 1);
    fibre.entered = true;
    setcontext(&fibre.context);
}

inline bool release(int first, int end, State waiting)
{
    bool some = false;
    for (int i = first; i < end; i++) {
        if (fibres[i].state == DONE)
            continue;
        if (fibres[i].state != waiting)
            return false;
        some = true;
    }
    for (int i = first; i < end && some; i++)
        if (fibres[i].state == waiting)
            fibres[i].state = READY;
    return some;
}

inline void run_block(std::mt19937 &random)
{
    std::vector<int> turns(threads);
    for (int i = 0; i < threads; i++) {
        Fibre &fibre = fibres[i];
        fibre.state = READY;
        fibre.entered = false;
        fibre.index = dim3(i % block_dim.x, i / block_dim.x % block_dim.y, i / (block_dim.x * block_dim.y));
        getcontext(&fibre.context);
        fibre.context.uc_stack.ss_sp = fibre.stack.data();
        fibre.context.uc_stack.ss_size = STACK;
        fibre.context.uc_link = nullptr;
        makecontext(&fibre.context, enter, 0);
        turns[i] = order == 1 ? threads - 1 - i : i;
    }
#ifndef TRUTH_TEMPLATES
    if (__start_truth_shared)
        memset(__start_truth_shared, 0xFF, __stop_truth_shared - __start_truth_shared);
#endif
    for (;;) {
        if (order == 2)
            std::shuffle(turns.begin(), turns.end(), random);
        bool ran = false, all = true;
        for (int turn : turns) {
            if (fibres[turn].state == READY) {
                resume(turn);
                ran = true;
            }
            all = all && fibres[turn].state == DONE;
        }
        if (all)
            return;
        for (int first = 0; first < threads; first += WARP)
            ran = release(first, std::min(first + WARP, threads), AT_WARP) || ran;
        ran = release(0, threads, AT_BLOCK) || ran;
        if (!ran) {
            stuck = true;
            return;
        }
    }
}

inline void launch(dim3 grid, dim3 block, size_t shared, const std::function<void()> &kernel)
{
    static std::vector<char> memory(DYNAMIC + 4096);
    static std::mt19937 random(1);
    threads = block.x * block.y * block.z;
    if (fibres.size() < size_t(threads))
        fibres.resize(threads);
    body = &kernel;
    grid_dim = grid;
    block_dim = block;
    dynamic = memory.data();
    int blocks = grid.x * grid.y * grid.z;
    for (int i = 0; i < blocks && !stuck; i++) {
        int b = order == 1 ? blocks - 1 - i : i;
        block_index = dim3(b % grid.x, b / grid.x % grid.y, b / (grid.x * grid.y));
        std::fill(memory.begin(), memory.end(), char(0xFF));
        run_block(random);
        for (size_t at = shared; at < memory.size(); at++)
            overrun = overrun || memory[at] != char(0xFF);
    }
}

inline int lane() { return current % WARP; }

template <typename T>
T exchanged(T value, int from)
{
    memcpy(fibres[current].value, &value, sizeof value);
    int warp = current - lane();
    wait(AT_WARP);
    T got = value;
    if (from >= 0 && from < WARP && warp + from < threads)
        memcpy(&got, fibres[warp + from].value, sizeof got);
    wait(AT_WARP);
    return got;
}

}  // namespace truth

extern "C" inline __attribute__((used)) void truth_begin(int order)
{
    truth::order = order;
    truth::stuck = truth::overrun = false;
}
extern "C" inline __attribute__((used)) int truth_end() { return truth::stuck * 1 + truth::overrun * 2; }

#define threadIdx (truth::fibres[truth::current].index)
#define blockIdx (truth::block_index)
#define blockDim (truth::block_dim)
#define gridDim (truth::grid_dim)

inline void __syncthreads() { truth::wait(truth::AT_BLOCK); }
inline void __syncwarp(unsigned int = ~0u) { truth::wait(truth::AT_WARP); }
inline int __syncthreads_or(int vote)
{
    truth::fibres[truth::current].voted = vote;
    __syncthreads();
    int any = 0;
    for (int i = 0; i < truth::threads; i++)
        any |= truth::fibres[i].voted;
    __syncthreads();
    return any;
}
template <typename T> T __shfl_down_sync(unsigned int, T value, int by) { return truth::exchanged(value, truth::lane() + by); }
template <typename T> T __shfl_up_sync(unsigned int, T value, int by) { return truth::exchanged(value, truth::lane() - by); }
template <typename T> T __shfl_xor_sync(unsigned int, T value, int by) { return truth::exchanged(value, truth::lane() ^ by); }

template <typename T, typename U> T atomicAdd(T *where, U what)
{
    T before = *where;
    *where += what;
    return before;
}
template <typename T> T __ldg(const T *from) { return *from; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
inline int __float_as_int(float x) { int bits; memcpy(&bits, &x, 4); return bits; }
inline long long clock64() { static long long now; return now += 977; }
template <typename T> T min(T a, T b) { return b < a ? b : a; }
template <typename T> T max(T a, T b) { return a < b ? b : a; }

typedef int cudaError_t;
enum { cudaSuccess, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
template <typename T> cudaError_t cudaMalloc(T **to, size_t bytes) { *to = (T *)malloc(bytes); return 0; }
inline cudaError_t cudaFree(void *) { return 0; }
inline cudaError_t cudaMemset(void *, int, size_t) { return 0; }
inline cudaError_t cudaMemcpy(void *, const void *, size_t, int) { return 0; }
inline cudaError_t cudaDeviceSynchronize() { return 0; }
inline const char *cudaGetErrorString(cudaError_t) { return ""; }
