// Finds data races of watched code: two threads, one byte, one of them writes, not both by atomics, and nothing that
// puts one access before the other.
//
// Watched code is compiled with -fsanitize=thread, and so calls one of the functions below before each access. The
// threads of a launch are fibres of one system thread, so a counter serves as time. One access is before another where
// both are the same thread's; where a barrier of the block lies between them; where the threads met in a warp function
// in between; or where the first one's thread, after a fence that follows the access, wrote by an atomic (or a volatile
// store to global memory) what the other one's thread read in the same way. Accesses of two launches are never a race.
//
// Two writes of the same value are none either. For each byte the last write is kept, and two reads since then: where
// more threads read it, a race with one of the others may be overlooked, and none is invented.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "internal.hpp"

namespace gi {

bool watching;

namespace {

typedef uint32_t Time;

struct Access {
  Time time;       // 0: there was none
  uint32_t place;  // in the code, its low half
  uint16_t thread;
  bool strong;  // an atomic, or a volatile access to global memory
};

struct Cell {
  Access write, reads[2];
};

// What was done to a page of memory: a cell for each word, or for each byte once some access was not to words.
struct Page {
  bool fine;
  Cell *cells;
};

constexpr unsigned kPageBits = 12, kTableBits = 18, kWord = 4;
constexpr uint64_t kPage = uint64_t(1) << kPageBits;
constexpr size_t kMostReports = 10000;

// Made when watched code is loaded, so that others do without.
constexpr size_t kTables = size_t(1) << (48 - kPageBits - kTableBits);
Page **tables;

const gi_kernel *kernel;
size_t dynamic_bytes;
Time now = 1, launch_begin, block_begin, last_barrier;

// What each thread knows of those of its warp: all that they did before these times.
Time (*known)[32];

struct Fence {
  Time time, barrier;  // when it was, and the last barrier before it; 0: there was none
};
Fence *fences[2];  // by reach

// A strong write after a fence, and what is known by who reads it.
struct Release {
  Time time, block;
  uint16_t thread;
  Fence fence[2];
  Time known[32];
};
typedef std::vector<Release> Log;
std::unordered_map<const void *, Log> releases;

struct Acquire {
  Time time;
  unsigned thread;
  const Log *log;
  size_t count;  // of the log's entries
};
std::vector<Acquire> acquires;  // in this block

struct Begin {
  Time time;
  gi_index block;
};
std::vector<Begin> blocks;

std::set<std::tuple<const gi_kernel *, uint32_t, uint32_t, bool>> reported;
std::set<std::pair<const gi_kernel *, const void *>> uneven;  // barriers that only a part of a block reached

// A write over another thread's: a race if it changes something, which shows when it is done.
struct Doubt {
  const unsigned char *address;
  unsigned bytes;
  unsigned char before[kWord];
  Access other, own;
};
std::vector<Doubt> doubts;

bool is_shared(const void *address) {
  const unsigned char *at = static_cast<const unsigned char *>(address);
  for (const gi_shared *one = kernel->shared; one < kernel->shared + kernel->shared_count; ++one)
    if (size_t(at - one->begin) < one->bytes) return true;
  return size_t(at - gi_dynamic_shared) < dynamic_bytes;
}

// --- what is before what ---

bool is_known(Time time, unsigned thread) {
  unsigned self = running_thread();
  return thread == self || time < last_barrier || (thread / 32 == self / 32 && time < known[self][thread % 32]);
}

bool covers(const Release &one, const Access &access, bool same_block) {
  const Fence &fence = one.fence[same_block ? GI_BLOCK : GI_DEVICE];
  if (!fence.time) return false;
  return (access.thread == one.thread && access.time < fence.time) || access.time < fence.barrier ||
         (access.thread / 32 == one.thread / 32 && access.time < one.known[access.thread % 32]);
}

// Whether the running thread read what was written after a fence behind the access.
bool is_passed_on(const Access &access, bool same_block) {
  for (const Acquire &one : acquires) {
    if (!is_known(one.time, one.thread)) continue;
    auto end = one.log->begin() + ptrdiff_t(one.count);
    auto at = std::lower_bound(one.log->begin(), end, access.time,
                               [](const Release &release, Time time) { return release.time < time; });
    for (; at != end && at->block <= access.time; ++at)
      if (covers(*at, access, same_block)) return true;
  }
  return false;
}

bool is_before(const Access &access, const void *address) {
  if (access.time < launch_begin) return true;
  bool same_block = access.time >= block_begin;
  if (same_block ? is_known(access.time, access.thread) : is_shared(address)) return true;
  return is_passed_on(access, same_block);
}

// --- telling of it ---

const void *whole_place(uint32_t low) {
  uint64_t near = uint64_t(reinterpret_cast<uintptr_t>(kernel->function));
  return reinterpret_cast<const void *>(near + uint64_t(int64_t(int32_t(low - uint32_t(near)))));
}

gi_index thread_index(unsigned number) {
  return {number % gi_block_size.x, number / gi_block_size.x % gi_block_size.y,
          number / gi_block_size.x / gi_block_size.y};
}

int describe_place(char *text, size_t room, const void *place) {
  Dl_info where = {};
  dladdr(place, &where);
  return snprintf(text, room, "\t%s+0x%zx", where.dli_fname ? where.dli_fname : "",
                  size_t(static_cast<const char *>(place) - static_cast<const char *>(where.dli_fbase)));
}

int describe(char *text, size_t room, const char *kind, const Access &access) {
  auto after = std::upper_bound(blocks.begin(), blocks.end(), access.time,
                                [](Time time, const Begin &begin) { return time < begin.time; });
  gi_index block = after == blocks.begin() ? gi_index{} : (after - 1)->block, thread = thread_index(access.thread);
  int length = snprintf(text, room, "\t%s%s\t(%u,%u,%u)\t(%u,%u,%u)", access.strong ? "atomic " : "", kind, thread.x,
                        thread.y, thread.z, block.x, block.y, block.z);
  return length + describe_place(text + length, room - size_t(length), whole_place(access.place));
}

void tell(char *text, int length) {
  text[length++] = '\n';
  if (report_to() >= 0 && write(report_to(), text, size_t(length)) < 0) reported.clear();
}

const char *name_of_kernel() {
  Dl_info named = {};
  dladdr(kernel->exported, &named);
  return named.dli_sname ? named.dli_sname : "";
}

void report(const void *address, const char *first, const Access &one, const char *second, const Access &other) {
  auto [low, high] = std::minmax(one.place, other.place);
  bool same_block = one.time >= block_begin;
  if (reported.size() >= kMostReports || !reported.emplace(kernel, low, high, same_block).second) return;
  const char *memory = find_buffer(address).name;
  if (!memory) memory = is_shared(address) ? "shared memory" : "a variable";
  char text[2048];
  int length = snprintf(text, sizeof text, "gi-cuda race\t%s\t%s\t%s", name_of_kernel(),
                        same_block ? "one block" : "two blocks", memory);
  length += describe(text + length, sizeof text / 2 - size_t(length), first, one);
  length += describe(text + length, sizeof text - 1 - size_t(length), second, other);
  tell(text, length);
}

void resolve() {
  if (doubts.empty()) return;
  for (const Doubt &one : doubts)
    if (memcmp(one.address, one.before, one.bytes)) report(one.address, "write", one.other, "write", one.own);
  doubts.clear();
}

// --- accesses ---

Page &page_of(uint64_t address) {
  uint64_t number = address >> kPageBits;
  Page *&table = tables[number >> kTableBits];
  if (!table) table = static_cast<Page *>(calloc(size_t(1) << kTableBits, sizeof(Page)));
  return table[number & ((uint64_t(1) << kTableBits) - 1)];
}

void make_fine(Page &page) {
  Cell *fine = static_cast<Cell *>(calloc(kPage, sizeof(Cell)));
  for (size_t i = 0; page.cells && i < kPage; ++i) fine[i] = page.cells[i / kWord];
  free(page.cells);
  page = {true, fine};
}

void keep_read(Cell &cell, const Access &access, const void *address) {
  Access &first = cell.reads[0], &second = cell.reads[1];
  if (!first.time || first.thread == access.thread || is_before(first, address))
    first = access;
  else if (!second.time || second.thread == access.thread || is_before(second, address) ||
           (second.thread / 32 == first.thread / 32 && access.thread / 32 != first.thread / 32))
    second = access;
}

void read_cell(Cell &cell, const Access &access, const void *address) {
  const Access &last = cell.reads[0];
  if (last.time == access.time && last.thread == access.thread && last.strong <= access.strong) return;
  const Access &write = cell.write;
  if (write.time && !(write.strong && access.strong) && !is_before(write, address))
    report(address, "write", write, "read", access);
  keep_read(cell, access, address);
}

void write_cell(Cell &cell, const Access &access, const unsigned char *address, unsigned bytes) {
  for (Access &read : cell.reads) {
    if (read.time && !(read.strong && access.strong) && !is_before(read, address))
      report(address, "read", read, "write", access);
    read.time = 0;
  }
  const Access &write = cell.write;
  if (write.time && !(write.strong && access.strong) && !is_before(write, address)) {
    doubts.push_back({address, bytes, {}, write, access});
    memcpy(doubts.back().before, address, bytes);
  }
  cell.write = access;
}

void touch(void *address, size_t bytes, bool writes, bool strong, const void *place) {
  resolve();
  if (is_on_stack(address)) return;
  Access access = {now, uint32_t(reinterpret_cast<uintptr_t>(place)) - 1, uint16_t(running_thread()), strong};
  uint64_t at = reinterpret_cast<uint64_t>(address), end = at + bytes;
  while (at < end) {
    Page &page = page_of(at);
    bool words = at % kWord == 0 && end - at >= kWord;
    if (!words && !page.fine) make_fine(page);
    if (!page.cells) page.cells = static_cast<Cell *>(calloc(kPage / kWord, sizeof(Cell)));
    unsigned step = page.fine ? 1 : kWord;
    unsigned char *here = reinterpret_cast<unsigned char *>(at);
    Cell &cell = page.cells[at % kPage / step];
    writes ? write_cell(cell, access, here, step) : read_cell(cell, access, here);
    at += step;
  }
}

// --- strong accesses ---

void release(const void *address) {
  unsigned self = running_thread();
  if (!fences[GI_BLOCK][self].time) return;
  Log &log = releases[address];
  bool again = !log.empty() && log.back().thread == self && log.back().block == block_begin &&
               log.back().fence[GI_BLOCK].time == fences[GI_BLOCK][self].time;
  if (!again) {
    log.emplace_back();
    log.back().block = block_begin, log.back().thread = uint16_t(self);
    log.back().fence[GI_BLOCK] = fences[GI_BLOCK][self], log.back().fence[GI_DEVICE] = fences[GI_DEVICE][self];
    memcpy(log.back().known, known[self], sizeof known[self]);
  }
  log.back().time = now++;
}

void acquire(const void *address) {
  auto found = releases.find(address);
  if (found == releases.end()) return;
  unsigned self = running_thread();
  for (Acquire &one : acquires)
    if (one.thread == self && one.log == &found->second && one.time >= last_barrier) {
      one.count = found->second.size();
      return;
    }
  acquires.push_back({now++, self, &found->second, found->second.size()});
}

void touch_volatile(void *address, size_t bytes, bool writes, const void *place) {
  bool strong = !is_on_stack(address) && !is_shared(address);
  touch(address, bytes, writes, strong, place);
  if (strong) writes ? release(address) : acquire(address);
}

void clear() {
  for (Page **at = tables; at < tables + kTables; ++at) {
    Page *&table = *at;
    for (size_t i = 0; table && i < size_t(1) << kTableBits; ++i) free(table[i].cells);
    free(table);
    table = nullptr;
  }
  now = 1;
}

}  // namespace

// --- what the scheduler tells ---

void watch_launch(const gi_kernel *the_kernel) {
  if (now > Time(1) << 31) clear();
  kernel = the_kernel;
  dynamic_bytes = find_buffer(gi_dynamic_shared).bytes;
  launch_begin = ++now;
  releases.clear();
  blocks.clear();
  doubts.clear();
}

void watch_end_of_some(const void *place, unsigned ended, unsigned size) {
  if (uneven.size() >= kMostReports || !uneven.emplace(kernel, place).second) return;
  char text[2048];
  int length = snprintf(text, sizeof text / 2, "gi-cuda barrier\t%s\t%u\t%u", name_of_kernel(), ended, size);
  length += describe_place(text + length, sizeof text - 1 - size_t(length), static_cast<const char *>(place) - 1);
  tell(text, length);
}

void watch_block() {
  resolve();
  block_begin = ++now;
  last_barrier = 0;
  unsigned size = gi_block_size.x * gi_block_size.y * gi_block_size.z;
  memset(known, 0, size * sizeof known[0]);
  for (Fence *row : {fences[GI_BLOCK], fences[GI_DEVICE]}) memset(row, 0, size * sizeof *row);
  acquires.clear();
  blocks.push_back({now, gi_block_index});
}

void watch_barrier() {
  resolve();
  last_barrier = ++now;
}

// Blocks go on one after another, each with a new watch_block.
void watch_grid_barrier() {
  resolve();
  launch_begin = ++now;
  releases.clear();
  acquires.clear();
}

void watch_warp(unsigned warp, unsigned lanes) {
  resolve();
  ++now;
  Time(*rows)[32] = known + warp * 32, all[32] = {};
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; (lanes >> lane & 1) && i < 32; ++i) all[i] = std::max(all[i], rows[lane][i]);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1) all[lane] = now;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (lanes >> lane & 1) memcpy(rows[lane], all, sizeof all);
}

void watch_end() { resolve(); }

}  // namespace gi

using namespace gi;

#define GI_PLACE __builtin_return_address(0)

#pragma GCC visibility push(default)
extern "C" {

void gi_fence(gi_reach reach) {
  resolve();
  ++now;
  Fence fence = {now, last_barrier};
  fences[GI_BLOCK][running_thread()] = fence;
  if (reach == GI_DEVICE) fences[GI_DEVICE][running_thread()] = fence;
}

void gi_atomic(void *address, size_t bytes, void *place) {
  touch(address, bytes, true, true, place);
  acquire(address);
  release(address);
}

void *gi_watched_memcpy(void *to, const void *from, size_t bytes) {
  touch(const_cast<void *>(from), bytes, false, false, GI_PLACE);
  touch(to, bytes, true, false, GI_PLACE);
  return memcpy(to, from, bytes);
}
void *gi_watched_memset(void *to, int value, size_t bytes) {
  touch(to, bytes, true, false, GI_PLACE);
  return memset(to, value, bytes);
}

// What g++ has watched code call.
void __tsan_init(void) {
  if (watching) return;
  tables = static_cast<Page **>(calloc(kTables, sizeof *tables));
  known = static_cast<Time(*)[32]>(calloc(kMostThreads, sizeof *known));
  for (Fence *&row : fences) row = static_cast<Fence *>(calloc(kMostThreads, sizeof *row));
  watching = true;
}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_vptr_read(void **) {}
void __tsan_read_range(void *address, size_t bytes) { touch(address, bytes, false, false, GI_PLACE); }
void __tsan_write_range(void *address, size_t bytes) { touch(address, bytes, true, false, GI_PLACE); }
#define GI_HOOKS(bytes)                                                                                            \
  void __tsan_read##bytes(void *address) { touch(address, bytes, false, false, GI_PLACE); }                       \
  void __tsan_write##bytes(void *address) { touch(address, bytes, true, false, GI_PLACE); }                       \
  void __tsan_volatile_read##bytes(void *address) { touch_volatile(address, bytes, false, GI_PLACE); }            \
  void __tsan_volatile_write##bytes(void *address) { touch_volatile(address, bytes, true, GI_PLACE); }            \
  void __tsan_unaligned_read##bytes(void *address) { touch(address, bytes, false, false, GI_PLACE); }             \
  void __tsan_unaligned_write##bytes(void *address) { touch(address, bytes, true, false, GI_PLACE); }             \
  void __tsan_unaligned_volatile_read##bytes(void *address) { touch_volatile(address, bytes, false, GI_PLACE); }  \
  void __tsan_unaligned_volatile_write##bytes(void *address) { touch_volatile(address, bytes, true, GI_PLACE); }
GI_HOOKS(1) GI_HOOKS(2) GI_HOOKS(4) GI_HOOKS(8) GI_HOOKS(16)
#undef GI_HOOKS
}
#pragma GCC visibility pop
