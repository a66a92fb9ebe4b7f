// Runs the blocks of a launch one after another, the threads of a block as lazy fibres.
//
// One fibre runs thread after thread as a plain loop. Only where a thread has to wait, at a barrier or in a warp
// function, does it keep its fibre, and another fibre goes on with the threads that are left. A block that never
// waits switches never. Everything happens in one system thread: nothing here needs to be atomic.

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "grid.hpp"
#include "internal.hpp"
#include "schedule.hpp"
#include "switch.hpp"
#include "warp.hpp"

#pragma GCC visibility push(default)
extern "C" {
gi_index gi_thread_index, gi_block_index, gi_block_size, gi_grid_size;
unsigned char *gi_dynamic_shared;
unsigned gi_loop_most[GI_LOOPS];
unsigned gi_chosen;
}
#pragma GCC visibility pop

// What launches that are timed never do is kept out of their way.
#define GI_ALWAYS(condition) __builtin_expect(condition, 1)
#define GI_SELDOM __attribute__((noinline, cold))

namespace gi {
namespace {

// The launch.
const gi_kernel *kernel;
void **arguments;
gi_status status;
char message[256];
bool launched;
double limit_seconds;
Schedule schedule;
bool usual = true;  // whether that is the natural order, and nobody watches
bool as_devices;    // masks that leave out the caller are taken
uint64_t switches;
size_t dynamic_bytes;

// The block.
unsigned size, started, live;
unsigned arrived, votes;
gi_votes outcome;
Queue at_barrier, ready;
Warp warps[kMostThreads / 32];
unsigned together;  // lanes that wait for "the threads that are here together"
Meetings meetings;
Queue at_grid;
unsigned arrived_at_grid;

// The blocks that wait for all others, and those that go on after all came.
std::vector<Parked> parked, released;

// The fibres. One more than a block has threads: the one that finds all others waiting. Where blocks wait for each other
// there are more, whose stacks are made when they are needed.
constexpr unsigned kMostFibres = 16 * kMostThreads + 1;
Fibre fibres[kMostFibres];
unsigned made, usable;
Fibre *idle;
Fibre host;
Fibre *running;
unsigned number;  // of the running thread in its block
unsigned char *stacks;

constexpr size_t kStride = kStackGuard + kStackBytes;

void carry_threads();

// The only place where fibres change. One return address for all of them keeps the processor's prediction of
// returns right across switches.
__attribute__((noinline)) void switch_to(Fibre *other) {
  Fibre *self = running;
  running = other;
  ++switches;
  gi_switch(&self->stack_pointer, other->stack_pointer);
}

// Leaves the launch for good; the fibres that still wait are forgotten.
__attribute__((noreturn)) void abandon(gi_status why) {
  status = why;
  switch_to(&host);
  __builtin_unreachable();
}

bool refuse(const char *what) {
  snprintf(message, sizeof message, "%s", what);
  return false;
}

// One more stack.
GI_SELDOM void make_usable() {
  unsigned char *bottom = stacks + usable * kStride + kStackGuard;
  if (usable == kMostFibres || mprotect(bottom, kStackBytes, PROT_READ | PROT_WRITE)) {
    snprintf(message, sizeof message,
             "blocks that wait for each other at a barrier of the grid have at most %u threads together here, and this"
             " launch has %llu blocks of %u",
             kMostFibres - 1, (unsigned long long)gi_grid_size.x * gi_grid_size.y * gi_grid_size.z, size);
    abandon(GI_BAD_LAUNCH);
  }
  ++usable;
}

Fibre *fresh_fibre() {
  if (Fibre *fibre = idle) {
    idle = fibre->next;
    return fibre;
  }
  if (!GI_ALWAYS(made < usable)) make_usable();
  Fibre *fibre = &fibres[made];
  unsigned char *bottom = stacks + made * kStride + kStackGuard;
  // Stacks that begin at the same offset of a page fight for the same cache lines.
  size_t colour = (made % 32) * 128;
  ++made;
  fibre->stack_pointer = fresh_stack(bottom + kStackBytes - colour, carry_threads);
  return fibre;
}

// --- warp functions ---

// The lanes of a group in the order of their places, at the end of the queue or in front of all others.
GI_SELDOM void wake_in_turn(Warp &warp, unsigned group) {
  Queue woken;
  while (group) {
    unsigned next = unsigned(__builtin_ctz(group));
    auto place = [&](unsigned lane) { return schedule.places[warp.lanes[lane]->number]; };
    each_lane(group, [&](unsigned lane) { next = place(lane) < place(next) ? lane : next; });
    woken.push(warp.lanes[next]);
    group &= ~(1u << next);
  }
  if (schedule.goes_on_at_once()) {
    woken.append(ready);
    ready = woken;
  } else {
    ready.append(woken);
  }
}

void wake(Warp &warp, unsigned group) {
  if (schedule.natural())
    each_lane(group, [&](unsigned lane) { ready.push(warp.lanes[lane]); });
  else
    wake_in_turn(warp, group);
}

void met(Warp &warp, unsigned group) {
  exchange(warp, group);
  if (watching) watch_warp(unsigned(&warp - warps), group);
}

// Those of a warp who are at one place.
GI_SELDOM void release_place(Warp &warp) {
  unsigned group = group_of_place(warp);
  if (!group) return;
  met(warp, group);
  wake(warp, group);
  together -= unsigned(__builtin_popcount(group));
}

// Nobody can go on. Threads that wait for those "that are here together" need not wait for more: on the device,
// what a warp does between two points where its threads diverge and meet again. The lanes at the place of the
// lowest waiting one form the group.
bool release_together() {
  if (!together) return false;
  if (as_devices) {
    for (Warp *warp = warps; warp < warps + (size + 31) / 32; ++warp) release_place(*warp);
    return true;
  }
  for (Warp *warp = warps; warp < warps + (size + 31) / 32; ++warp) {
    unsigned group = 0;
    const Fibre *first = nullptr;
    each_lane(warp->waiting, [&](unsigned lane) {
      const Fibre &call = *warp->lanes[lane];
      if (call.mask) return;
      if (!first) first = &call;
      if (call.function == first->function && call.argument / 32 == first->argument / 32) group |= 1u << lane;
    });
    if (!group) continue;
    met(*warp, group);
    wake(*warp, group);
    together -= unsigned(__builtin_popcount(group));
  }
  return true;
}

// --- threads ---

__attribute__((noreturn)) void deadlock() {
  unsigned waiting_in_warps = 0, waiting_in_tiles = 0;
  for (unsigned i = 0; i < (size + 31) / 32; ++i)
    waiting_in_warps += unsigned(__builtin_popcount(warps[i].waiting));
  for (unsigned i = 0; i < meetings.count; ++i) waiting_in_tiles += meetings.open[i].arrived;
  int length = snprintf(
      message, sizeof message,
      "deadlock in block (%u,%u,%u): of %u threads %u have exited, %u wait at __syncthreads, %u in warp functions",
      gi_block_index.x, gi_block_index.y, gi_block_index.z, size, size - live, arrived, waiting_in_warps);
  auto add = [&](unsigned threads, const char *where) {
    if (threads) length += snprintf(message + length, sizeof message - size_t(length), ", %u %s", threads, where);
  };
  add(waiting_in_tiles, "in tiles of several warps");
  add(arrived_at_grid, "at the barrier of the grid");
  abandon(GI_DEADLOCK);
}

bool next_block();

// All threads of the block that are left wait for the other blocks, which run now where it ran.
GI_SELDOM void park_block() {
  parked.emplace_back();
  Parked &block = parked.back();
  block.block = gi_block_index;
  block.live = live;
  for (unsigned i = 0; i < kMostThreads / 32; ++i) block.lanes[i] = warps[i].live;
  block.waiting = at_grid;
  block.keep(*kernel, gi_dynamic_shared, dynamic_bytes);
  at_grid = Queue();
  arrived_at_grid = 0;
  next_block();
}

// Whoever goes on next: those who can, before those who have not begun, so that few stacks are in use.
__attribute__((noinline)) Fibre *next_of_others() {
  for (;;) {
    if (started < size && (!ready.first || schedule.begins_another())) return fresh_fibre();
    if (Fibre *fibre = ready.pop()) return fibre;
    if (release_together()) continue;
    if (!arrived_at_grid || arrived_at_grid != live) deadlock();
    park_block();
  }
}

Fibre *next_fibre() {
  if (GI_ALWAYS(usual))
    if (Fibre *fibre = ready.pop()) return fibre;
  return next_of_others();
}

// The running thread cannot go on; returns when it can. Part of who calls it: after a switch the processor foresees no
// return, and each one more that is to come costs time.
__attribute__((always_inline)) inline void wait_for(Fibre *(*choose)()) {
  Fibre *self = running;
  self->thread = gi_thread_index;
  self->number = number;
  Fibre *other = choose();
  if (other != self) switch_to(other);
  gi_thread_index = self->thread;
  number = self->number;
}

// Those who wait at a barrier, in the order in which they are to go on.
void put_in_order(Queue &waiting) {
  static Fibre *by_place[kMostThreads];
  for (unsigned i = 0; i < size; ++i) by_place[i] = nullptr;
  while (Fibre *fibre = waiting.pop()) by_place[schedule.places[fibre->number]] = fibre;
  for (unsigned i = 0; i < size; ++i)
    if (by_place[i]) waiting.push(by_place[i]);
}

const void *barrier_place;  // who came to it last

GI_SELDOM void before_opening() {
  if (!schedule.natural()) {
    schedule.after_barrier();
    put_in_order(at_barrier);
  }
  if (watching) {
    if (live < size) watch_end_of_some(barrier_place, size - live, size);
    watch_barrier();
  }
}

void open_barrier() {
  outcome = {votes, arrived};
  arrived = votes = 0;
  if (!GI_ALWAYS(usual)) before_opening();
  ready.append(at_barrier);
}

// The last one to come has its turn like the others.
GI_SELDOM void open_barrier_for(Fibre *last) {
  last->number = number;
  open_barrier();
}

// Those who met in a tile of several warps.
GI_SELDOM void release_meeting(Meeting &meeting) {
  Queue queue = meetings.close(meeting, warps);
  if (!schedule.natural()) put_in_order(queue);
  // To the detector it is a barrier of the block, so that it invents no race.
  if (watching) watch_barrier();
  ready.append(queue);
}

GI_SELDOM uint64_t meet_at_place(Warp &warp, const void *place) {
  running->place = place;
  running->number = number;
  ++together;
  if (warp.waiting == warp.live) release_place(warp);
  wait_for(next_fibre);
  return running->result;
}

bool is_complete(const Meeting &one) { return one.arrived == living(warps, one.first, one.count); }

GI_SELDOM uint64_t go_on_in_turn(Warp &warp, unsigned group) {
  Fibre *self = running;
  self->number = number;
  if (watching) watch_warp(unsigned(&warp - warps), group);
  if (schedule.natural()) {
    wake(warp, group & ~(1u << number % 32));
  } else {
    wake(warp, group);
    wait_for(next_fibre);
  }
  return self->result;
}

void tell_meetings() {
  for (unsigned i = meetings.count; i-- > 0;)
    if (is_complete(meetings.open[i])) release_meeting(meetings.open[i]);
}

// A thread that exits may be the one that others were waiting for.
void exit_thread() {
  Warp &warp = warps[number / 32];
  warp.live &= ~(1u << number % 32);
  --live;
  if (arrived && arrived == live) open_barrier();
  if (!GI_ALWAYS(!meetings.count)) tell_meetings();
  if (!GI_ALWAYS(!as_devices)) {
    if (warp.waiting == warp.live) release_place(warp);
    return;
  }
  for (unsigned rest = warp.waiting; rest;) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    rest &= rest - 1;
    if (unsigned group = complete_group(warp, lane)) {
      met(warp, group);
      wake(warp, group);
      rest &= ~group;
    }
  }
}

void begin_block() {
  started = 0;
  live = size;
  for (unsigned i = 0; i < size; i += 32) {
    warps[i / 32].live = size - i >= 32 ? ~0u : (1u << (size - i)) - 1;
    warps[i / 32].waiting = 0;
  }
  for (const gi_shared *one = kernel->shared; one < kernel->shared + kernel->shared_count; ++one)
    poison(one->begin, one->bytes, GI_UNSET);
  poison(gi_dynamic_shared, dynamic_bytes, GI_UNSET);
  if (!GI_ALWAYS(usual)) {
    schedule.begin_block();
    if (watching) watch_block();
  }
}

gi_index index_of(uint64_t number, const gi_index &count) {
  uint64_t row = number / count.x;
  return {unsigned(number % count.x), unsigned(row % count.y), unsigned(row / count.y)};
}

void advance(gi_index &index, const gi_index &count) {
  if (++index.x == count.x) {
    index.x = 0;
    if (++index.y == count.y) {
      index.y = 0;
      ++index.z;
    }
  }
}

// A block that waited for all others goes on, if there is one.
GI_SELDOM bool resume_block() {
  if (released.empty()) {
    if (parked.empty()) return false;
    if (parked.size() < schedule.blocks) {
      snprintf(message, sizeof message,
               "deadlock: of %llu blocks %llu wait at the barrier of the grid, and the others have ended",
               (unsigned long long)schedule.blocks, (unsigned long long)parked.size());
      abandon(GI_DEADLOCK);
    }
    if (watching) watch_grid_barrier();
    schedule.put_in_turn(parked, released);
  }
  Parked &block = released.back();
  gi_block_index = block.block;
  live = block.live;
  for (unsigned i = 0; i < kMostThreads / 32; ++i) warps[i].live = block.lanes[i];
  block.put_back(*kernel, gi_dynamic_shared);
  if (!schedule.natural()) put_in_order(block.waiting);
  if (watching) watch_block();
  ready.append(block.waiting);
  released.pop_back();
  return true;
}

bool next_block() {
  if (schedule.begun == schedule.blocks) return resume_block();
  if (!schedule.in_a_row()) {
    gi_block_index = index_of(schedule.next_block(), gi_grid_size);
  } else {
    ++schedule.begun;
    advance(gi_block_index, gi_grid_size);
  }
  begin_block();
  return true;
}

gi_index upcoming;  // the thread to be started next

// What every fibre does, for as long as there are fibres.
void carry_threads() {
  for (;;) {
    if (started < size) {
      if (GI_ALWAYS(schedule.natural())) {
        if (started == 0) upcoming = {0, 0, 0};
        gi_thread_index = upcoming;
        advance(upcoming, gi_block_size);
        number = started;
      } else {
        number = schedule.turns[started];
        gi_thread_index = index_of(number, gi_block_size);
      }
      ++started;
      kernel->signature->call(kernel->function, arguments);
      exit_thread();
    } else if (live == 0) {
      if (!next_block()) {
        running->next = idle;
        idle = running;
        switch_to(&host);
      }
    } else {
      Fibre *other = next_fibre();
      running->next = idle;
      idle = running;
      switch_to(other);
      // Back here there are threads to be started, or a launch.
    }
  }
}

bool acceptable(const unsigned grid[3], const unsigned block[3], size_t shared) {
  for (int i = 0; i < 3; ++i)
    if (!grid[i] || !block[i]) return refuse("a grid and a block have at least one element in each dimension");
  if (grid[0] > 0x7fffffffu || grid[1] > 65535 || grid[2] > 65535)
    return refuse("a grid has at most 2147483647 x 65535 x 65535 blocks");
  if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 ||
      uint64_t(block[0]) * block[1] * block[2] > kMostThreads)
    return refuse("a block has at most 1024 threads, and 64 in its third dimension");
  if (shared > size_t(227) << 10) return refuse("a block has at most 227 KiB of dynamic shared memory");
  return true;
}

uint64_t thread_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

void arm(double seconds) {
  if (limit_seconds <= 0) return;
  itimerval timer = {};
  timer.it_value.tv_sec = time_t(seconds);
  timer.it_value.tv_usec = suseconds_t((seconds - double(timer.it_value.tv_sec)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

// Address space for all stacks, and as many of them as a block of so many threads needs: each is an area of memory to the
// system, which forking, mapping and ending a process take time for.
bool prepare_stacks(unsigned threads) {
  if (!stacks) {
    size_t bytes = kStride * kMostFibres;
    void *region = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return refuse("no address space for the stacks of threads");
    stacks = static_cast<unsigned char *>(region);
  }
  for (; usable <= threads; ++usable)
    if (mprotect(stacks + usable * kStride + kStackGuard, kStackBytes, PROT_READ | PROT_WRITE))
      return refuse("no memory for the stacks of a block's threads");
  return true;
}

}  // namespace

void end_launch(gi_status why, const char *what) {
  refuse(what);
  abandon(why);
}

bool is_stack_guard(const void *address) {
  size_t offset = size_t(static_cast<const unsigned char *>(address) - stacks);
  return stacks && offset < kStride * kMostFibres && offset % kStride < kStackGuard;
}

bool is_on_stack(const void *address) {
  return size_t(static_cast<const unsigned char *>(address) - stacks) < kStride * kMostFibres;
}

Place find_shared(const void *address) {
  if (!launched) return {};
  const unsigned char *at = static_cast<const unsigned char *>(address);
  const gi_shared *nearest = nullptr;
  ptrdiff_t least = kNearShared;
  for (const gi_shared *one = kernel->shared; one < kernel->shared + kernel->shared_count; ++one) {
    ptrdiff_t away = at < one->begin ? one->begin - at : at - (one->begin + one->bytes);
    if (away < least) nearest = one, least = away;
  }
  return nearest ? Place{nearest->name, nearest->begin, nearest->bytes} : Place{};
}

unsigned running_thread() { return number; }

Where where() { return {launched, gi_block_index, gi_thread_index}; }

}  // namespace gi

using namespace gi;

extern "C" {

gi_votes gi_barrier(bool vote) {
  if (!GI_ALWAYS(usual)) barrier_place = __builtin_return_address(0);
  votes += vote;
  bool all = ++arrived == live;
  if (all && GI_ALWAYS(schedule.natural())) {
    open_barrier();
  } else {
    at_barrier.push(running);
    if (all) open_barrier_for(running);
    wait_for(next_fibre);
  }
  return outcome;
}

uint64_t gi_warp(gi_warp_function function, unsigned mask, uint64_t value, unsigned argument) {
  Warp &warp = warps[number / 32];
  unsigned lane = number % 32;
  Fibre *self = running;
  self->function = function;
  self->mask = mask;
  self->value = value;
  self->argument = argument;
  warp.lanes[lane] = self;
  warp.waiting |= 1u << lane;
  if (!GI_ALWAYS(!as_devices)) return meet_at_place(warp, __builtin_return_address(0));
  if (!mask) ++together;
  if (unsigned group = complete_group(warp, lane)) {
    exchange(warp, group);
    if (!GI_ALWAYS(usual)) return go_on_in_turn(warp, group);
    each_lane(group & ~(1u << lane), [&](unsigned other) { ready.push(warp.lanes[other]); });
  } else {
    wait_for(next_fibre);
  }
  return self->result;
}

const gi_table *gi_meet(unsigned first, unsigned count, uint64_t value) {
  Fibre *self = running;
  self->number = number;
  self->value = value;
  Meeting &meeting = meetings.of(first, count);
  meeting.queue.push(self);
  ++meeting.arrived;
  if (is_complete(meeting)) release_meeting(meeting);
  wait_for(next_fibre);
  return meetings.tables;
}

void gi_grid_barrier(void) {
  running->number = number;
  at_grid.push(running);
  ++arrived_at_grid;
  wait_for(next_fibre);
}

unsigned gi_left_out(unsigned mask, unsigned line) {
  if (as_devices) return mask ? mask : 1u << number % 32;
  int length = line ? snprintf(message, sizeof message, "line %u: ", line) : 0;
  snprintf(message + length, sizeof message - size_t(length),
           "thread (%u,%u,%u) of block (%u,%u,%u), lane %u of its warp, calls a warp function with the mask 0x%08x, which"
           " leaves it out",
           gi_thread_index.x, gi_thread_index.y, gi_thread_index.z, gi_block_index.x, gi_block_index.y, gi_block_index.z,
           number % 32, mask);
  abandon(GI_BAD_MASK);
}

void gi_beyond_bounds(unsigned most) {
  snprintf(message, sizeof message, "__launch_bounds__ allows blocks of %u threads, and the launch has blocks of %u", most,
           size);
  abandon(GI_BAD_LAUNCH);
}

void gi_yield(void) {
  ready.push(running);
  wait_for([]() -> Fibre * { return started < size ? fresh_fibre() : ready.pop(); });
}

unsigned gi_lane(void) { return number % 32; }

int gi_launch(const gi_kernel *the_kernel, void **the_arguments, const unsigned grid[3], const unsigned block[3],
              size_t dynamic_shared, uint64_t *cpu_nanoseconds) {
  message[0] = 0;
  if (!acceptable(grid, block, dynamic_shared) || !prepare_stacks(block[0] * block[1] * block[2])) return GI_BAD_LAUNCH;
  kernel = the_kernel;
  arguments = the_arguments;
  gi_grid_size = {grid[0], grid[1], grid[2]};
  gi_block_size = {block[0], block[1], block[2]};
  size = block[0] * block[1] * block[2];
  dynamic_bytes = dynamic_shared;
  gi_dynamic_shared = reserve_dynamic_shared(dynamic_shared);
  if (!gi_dynamic_shared) {
    refuse("no memory for dynamic shared memory");
    return GI_BAD_LAUNCH;
  }
  status = GI_OK;
  arrived = votes = together = arrived_at_grid = meetings.count = 0;
  running = &host;
  usual = schedule.natural() && !watching;
  schedule.begin_launch(uint64_t(grid[0]) * grid[1] * grid[2], size);
  gi_block_index = index_of(schedule.next_block(), gi_grid_size);
  if (watching) watch_launch(kernel);

  arm(limit_seconds);
  uint64_t begin = thread_nanoseconds();
  launched = true;
  begin_block();
  switch_to(fresh_fibre());
  launched = false;
  if (watching) watch_end();
  uint64_t end = thread_nanoseconds();
  arm(0);

  if (cpu_nanoseconds) *cpu_nanoseconds = end - begin;
  if (status != GI_OK) {
    made = 0;
    idle = nullptr;
    ready = at_barrier = at_grid = Queue();
    parked.clear(), released.clear();
  } else if (const char *name = overrun_buffer()) {
    snprintf(message, sizeof message, "the bytes beside buffer '%s' were written", name);
    status = GI_OVERRUN;
  } else if (const gi_shared *one = overrun_shared(*kernel)) {
    snprintf(message, sizeof message, "the bytes beside '%s' were written", one->name);
    status = GI_OVERRUN;
  }
  return status;
}

const char *gi_message(void) { return message; }
uint64_t gi_switches(void) { return switches; }
void gi_limit(double seconds) { limit_seconds = seconds; }
int gi_late() {
  raise(SIGPROF);
  return 0;
}
void gi_sample_blocks(uint64_t threads) { schedule.sample = threads; }
void gi_masks(bool take_them) { as_devices = take_them; }
void gi_schedule(int order, uint64_t seed) {
  schedule.order = gi_order(order);
  schedule.seed = seed;
}
}
