// What the parts of the runtime know of each other.
#pragma once

#include "../include/gi_runtime.hpp"

#pragma GCC visibility push(default)
extern "C" {
// Read by kernels as constants: within one thread they are.
extern gi_index gi_thread_index, gi_block_index, gi_block_size, gi_grid_size;
extern unsigned char *gi_dynamic_shared;
}
#pragma GCC visibility pop

namespace gi {

// Room around buffers and below fibre stacks that nobody may touch. It costs address space only, so it is wide
// enough for an index that is wrong by a lot.
constexpr size_t kBufferGuard = size_t(64) << 20;
constexpr size_t kLarge = size_t(4) << 20;  // bytes of a buffer that gets large pages
constexpr size_t kNearShared = size_t(4) << 20;  // what is this near to shared memory was meant to be in it
constexpr size_t kStackGuard = size_t(64) << 10;
constexpr size_t kStackBytes = size_t(256) << 10;
constexpr unsigned kMostThreads = 1024;  // of a block

void poison(void *begin, size_t bytes, uint32_t word = GI_POISON);
size_t page_bytes();

// memory.cpp
struct Place {
  const char *name;       // of the nearest buffer, or null
  const void *begin;      // of that buffer
  size_t bytes;           // its length
};
Place find_buffer(const void *address);
bool give_way(const void *address);  // whether there is memory now where there was a buffer's guard
bool is_watched();  // whether what gave way is to be taken back once the access is over
void take_back();
const char *overrun_buffer();  // whose margin was written, or null
const gi_shared *overrun_shared(const gi_kernel &kernel);
unsigned char *reserve_dynamic_shared(size_t bytes);

// scheduler.cpp
__attribute__((noreturn)) void end_launch(gi_status why, const char *what);  // what: the message
bool is_stack_guard(const void *address);
bool is_on_stack(const void *address);
struct Where {
  bool running;
  gi_index block, thread;
};
Place find_shared(const void *address);  // what of the running kernel's static shared memory is near
unsigned running_thread();  // its number in its block
Where where();

// signals.cpp
int report_to();  // the descriptor; negative: nobody listens

// races.cpp: what a launch of watched code tells it (see there). Others have nothing to tell.
extern bool watching;
void watch_launch(const gi_kernel *kernel);
void watch_block();
void watch_barrier();
void watch_end_of_some(const void *place, unsigned ended, unsigned size);  // where others wait at a barrier
void watch_grid_barrier();
void watch_warp(unsigned warp, unsigned lanes);
void watch_end();
}  // namespace gi
