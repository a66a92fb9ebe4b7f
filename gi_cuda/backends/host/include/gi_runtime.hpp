// What compiled kernels and the runtime library agree on. Everything has C linkage and plain data.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Fills fresh buffers: a quiet NaN as float and as double, negative as int, and as an unsigned index far beyond any
// buffer.
#define GI_POISON 0xFFFDA5A5u
// Fills shared memory at the start of every block, and what else nothing has set: backends/protocol/device.py says why.
#define GI_UNSET (GI_POISON + 1)

struct gi_index {
  unsigned x, y, z;
};

struct gi_signature {
  void (*call)(void (*function)(), void **arguments);  // arguments: pointers to values, as in cuLaunchKernel
  unsigned count;
  const unsigned *sizes;  // of the parameters, bytes
};

// A variable in static shared memory, and how many bytes there are before and behind it that nothing may write to, where
// it has pages of its own; what is beside these nobody may touch.
struct gi_shared {
  unsigned char *begin;
  size_t bytes;
  unsigned before, behind;
  bool pages;  // whether there are such
  char name[64];
};

struct gi_kernel {
  void (*function)();
  const gi_signature *signature;
  const gi_shared *shared;  // the variant's, as its library's table of symbols has them: what is exported has none
  unsigned shared_count;
  const gi_kernel *exported;  // by the library
};

struct gi_symbol {
  void *address;
  size_t bytes;
};

// Where a coordinate outside leads to.
enum gi_address : unsigned char { GI_WRAP, GI_CLAMP, GI_MIRROR, GI_BORDER };

// A texture or surface. Its object, as kernels get it, is GI_TEXTURE_FIRST plus its place in gi_textures: nothing else
// that a kernel could take for one by mistake is that.
struct gi_texture {
  void *texels;
  uint64_t count;      // of texels; of linear ones at most 2^31, so that no negative index is less
  unsigned format;     // gi_format; with the dimensions where there are any, so that tex1Dfetch knows its own at a glance
  unsigned size[3];    // x, y, z; 1 beyond the dimensions
  unsigned layers;     // 0: none
  gi_address address[3];
  bool linear;         // filtered
  bool normalized;     // coordinates go from 0 to 1
  bool surface;
  char name[64];
};
#define GI_TEXTURES 1024
#define GI_TEXTURE_FIRST 0x7e78000000000000ull

// What texels, or what is fetched of them, are made of.
enum gi_number : unsigned { GI_SIGNED, GI_UNSIGNED, GI_FLOAT };
constexpr unsigned gi_format(gi_number number, unsigned bits, unsigned components, bool normalized = false) {
  return number | bits << 8 | components << 16 | unsigned(normalized) << 24;
}
#define GI_DIMENSIONS 26  // bits of the format below those that say how many there are; 0 is linear memory

struct gi_texel {
  uint32_t component[4];  // integers extended to 32 bits, or the bits of a float
};

// How a launch ended.
enum gi_status : int {
  GI_OK = 0,
  GI_BAD_LAUNCH = 1,  // the device would refuse the geometry
  GI_DEADLOCK = 2,    // threads wait for others that never come
  GI_BAD_MASK = 3,    // a thread calls a warp function with a mask that leaves it out
  GI_OVERRUN = 4,     // the bytes between a buffer and its guard page were written
  GI_BAD_FETCH = 5,   // of what is no texture, or as what its texels are not
};

// The warp functions that exchange values. A mask of 0 stands for "the threads that are here together".
enum gi_warp_function : unsigned {
  GI_SYNC,
  GI_SHUFFLE,
  GI_BALLOT,
  GI_MATCH_ANY,
  GI_ADD,
  GI_MIN_SIGNED,
  GI_MAX_SIGNED,
  GI_MIN_UNSIGNED,
  GI_MAX_UNSIGNED,
  GI_AND,
  GI_OR,
  GI_XOR,
  GI_GATHER,
};

// What the threads of a warp gave last: each lane's value, and the lanes it met then. `here`: those of the warp in the
// last meeting of several warps.
struct gi_table {
  uint64_t values[32];
  unsigned lanes[32];
  unsigned here;
};

struct gi_votes {
  unsigned yes, all;
};

// In which order the threads of a launch go on. Barriers and warp functions are the places where they change.
enum gi_order : int {
  GI_NATURAL,   // the first block first, and in it the first thread
  GI_REVERSED,  // the last thread of the last block first
  GI_RANDOM,    // blocks and threads at random, another order after each barrier
  GI_WARPS,     // blocks and warps at random, the threads of a warp one after another
  GI_AHEAD,     // blocks at random; one warp of each runs ahead of the others, as far as the next barrier
};

// What a fence is for: the threads of the block, or all of them.
enum gi_reach : unsigned { GI_BLOCK, GI_DEVICE };

#define GI_LOOPS 65536

#pragma GCC visibility push(default)
extern "C" {

// For kernels.
gi_votes gi_barrier(bool vote);
uint64_t gi_warp(gi_warp_function function, unsigned mask, uint64_t value, unsigned argument);
// A barrier of `count` threads from that one on, whole warps; what they gave, by warp of the block.
const gi_table *gi_meet(unsigned first, unsigned count, uint64_t value);
void gi_grid_barrier(void);  // of all threads of the launch
unsigned gi_left_out(unsigned mask, unsigned line);  // ends the launch, or says which mask to go on with
void gi_yield(void);
void gi_beyond_bounds(unsigned most) __attribute__((cold, noreturn));  // ends the launch: its blocks have more threads
int gi_late(void) __attribute__((cold));  // ends the process as a launch over its limit does: a loop would go on for ever
unsigned gi_lane(void) __attribute__((const));  // within one thread it is
void gi_fence(gi_reach reach);                               // these two in watched code only
void gi_atomic(void *address, size_t bytes, void *place);  // place: in the code
// Of Marsaglia's xorwow: forwards by so many numbers, and by so many sequences of 2^67 numbers.
void gi_xorwow_skip(uint32_t *words, uint64_t steps, uint64_t sequences);
extern unsigned gi_loop_most[GI_LOOPS];  // most iterations seen of each instrumented loop
extern unsigned gi_chosen;                // which of its variants a schema is
extern gi_texture gi_textures[GI_TEXTURES];
extern unsigned gi_texture_count;
gi_texel gi_fetch(uint64_t object, int index, unsigned wanted);  // wanted: the format that is asked for
// What a fetch asks for: the CUDA function, its dimensions, and whether there are layers.
struct gi_fetch_kind {
  const char *name;
  unsigned char dimensions;
  bool layered;
};
gi_texel gi_sample(uint64_t object, gi_fetch_kind kind, unsigned wanted, const float place[3], int layer);
gi_texel gi_gather(uint64_t object, gi_fetch_kind kind, unsigned wanted, const float place[2], unsigned component);
// Where `bytes` of a surface are, those at a byte of a row; null where what is outside is zero. mode: as cudaBoundaryModeZero.
void *gi_surface_at(uint64_t object, gi_fetch_kind kind, unsigned bytes, const int place[3], int layer, int mode);

// For the host.
int gi_launch(const gi_kernel *kernel, void **arguments, const unsigned grid[3], const unsigned block[3],
              size_t dynamic_shared, uint64_t *cpu_nanoseconds);
const char *gi_message(void);    // about the last launch that did not end with GI_OK
uint64_t gi_switches(void);      // fibre switches since the library was loaded
void gi_limit(double seconds);   // of processor time per launch, then SIGPROF; 0: none
void gi_schedule(int order, uint64_t seed);  // of later launches
void gi_sample_blocks(uint64_t threads);  // later launches run some blocks, of about so many threads; 0: all
void gi_masks(bool as_devices);  // whether later launches take masks that leave out the caller
void gi_report(int descriptor);  // where a line goes that says which signal ended a launch, and why
bool gi_open_shared(const gi_shared *shared, unsigned count);  // what was closed until now; false: the system refuses
void *gi_alloc(size_t bytes, size_t alignment, const char *name);  // poisoned; null: no memory
void gi_free(void *buffer);

// How far from a buffer something was accessed while guards gave way, bytes.
struct gi_beyond {
  uint64_t before;       // its begin
  uint64_t least, most;  // past its end: of the page furthest away only the first access is known
};
void gi_give(int on);  // from now on guards give way: an access beside a buffer finds memory there, and goes on
const char *gi_gave(unsigned index, gi_beyond *beyond);  // name of a buffer, null: there are no more
uint64_t gi_texture_object(const gi_texture *texture);  // of one like that; 0: there is no room
}
#pragma GCC visibility pop

// The first value of a loop guard's counter, which no compiler knows (grammar.frontends.cuda.guard).
inline unsigned gi_zero() {
  unsigned zero = 0;
  asm("" : "+r"(zero));
  return zero;
}
constexpr unsigned gi_begin() { return __builtin_is_constant_evaluated() ? 0 : gi_zero(); }
