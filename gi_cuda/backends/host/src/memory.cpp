// Buffers that end at a page nobody may touch, and poison.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.hpp"

namespace gi {
namespace {

struct Buffer {
  Buffer *next;
  unsigned char *region;  // guard, pages, guard
  size_t region_bytes;
  unsigned char *pages;
  size_t pages_bytes;
  unsigned char *begin;  // within the pages, as near to their end as the alignment allows
  size_t bytes;
  uint32_t margin;  // the word around it, up to the guards
  gi_beyond beyond;
  char name[96];
};

Buffer *buffers;
Buffer *dynamic_shared;
bool giving;  // whether guards give way

// What gave way is a guard again after the access, so that the next one is seen, too. Of so many, which take their time.
#if defined(__x86_64__)
constexpr unsigned kWatched = 20000;
#else
constexpr unsigned kWatched = 0;
#endif
unsigned watched;
constexpr unsigned kPages = 8;  // that one instruction accesses
unsigned char *given[kPages];
unsigned given_pages;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Words of margins: for each buffer its own (two names have the same once in so many), and none what unwritten memory
// holds. Else `b[n] = a[n]`, one item too far in both, would leave a margin as it was. All are a NaN, and negative, as
// poison is.
constexpr uint32_t kMargins = 32749;
uint32_t margin_of(uint32_t number) { return GI_POISON - 1 - number % kMargins; }

uint32_t number_of(const char *name) {  // the same in each process: FNV-1a
  uint32_t number = 2166136261u;
  for (; *name; ++name) number = (number ^ static_cast<unsigned char>(*name)) * 16777619u;
  return number;
}

// Without memcmp: an address sanitizer takes what is behind a variable of a library for its own.
bool holds(const unsigned char *begin, size_t bytes, uint32_t word) {
  const unsigned char *pattern = reinterpret_cast<const unsigned char *>(&word);
  unsigned differ = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word, begin += sizeof word) {
    uint32_t found;
    memcpy(&found, begin, sizeof found);
    differ |= found ^ word;
  }
  while (bytes--) differ |= begin[bytes] ^ pattern[bytes];
  return !differ;
}

// Each margin is checked against a pattern that begins where it does.
void close_margins(const Buffer &one) {
  unsigned char *end = one.begin + one.bytes;
  poison(one.pages, size_t(one.begin - one.pages), one.margin);
  poison(end, size_t(one.pages + one.pages_bytes - end), one.margin);
}

bool is_overrun(const Buffer &one) {
  const unsigned char *end = one.begin + one.bytes;
  return !holds(one.pages, size_t(one.begin - one.pages), one.margin) ||
         !holds(end, size_t(one.pages + one.pages_bytes - end), one.margin);
}

Buffer *map(size_t bytes, size_t alignment, const char *name) {
  Buffer *buffer = static_cast<Buffer *>(malloc(sizeof(Buffer)));
  if (!buffer) return nullptr;
  buffer->pages_bytes = round_up(bytes ? bytes : 1, page_bytes());
  buffer->region_bytes = buffer->pages_bytes + 2 * kBufferGuard;
  void *region = mmap(nullptr, buffer->region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) {
    free(buffer);
    return nullptr;
  }
  buffer->region = static_cast<unsigned char *>(region);
  buffer->pages = buffer->region + kBufferGuard;
  if (mprotect(buffer->pages, buffer->pages_bytes, PROT_READ | PROT_WRITE)) {
    munmap(region, buffer->region_bytes);
    free(buffer);
    return nullptr;
  }
  // All of it is written at once: a gigabyte of small pages takes the system longer than the writing.
  if (buffer->pages_bytes >= kLarge) madvise(buffer->pages, buffer->pages_bytes, MADV_HUGEPAGE);
  buffer->bytes = bytes;
  buffer->beyond = {};
  buffer->begin = buffer->pages + (buffer->pages_bytes - round_up(bytes, alignment));
  snprintf(buffer->name, sizeof buffer->name, "%s", name);
  poison(buffer->begin, bytes);
  buffer->margin = margin_of(number_of(buffer->name));
  close_margins(*buffer);
  buffer->next = buffers;
  buffers = buffer;
  return buffer;
}

void unmap(Buffer *buffer) {
  for (Buffer **link = &buffers; *link; link = &(*link)->next)
    if (*link == buffer) {
      *link = buffer->next;
      munmap(buffer->region, buffer->region_bytes);
      free(buffer);
      return;
    }
}

// What lies beyond a buffer goes on like its data: what is read there may be an index.
void continue_data(unsigned char *page, const Buffer &buffer) {
  size_t bytes = page_bytes();
  if (!buffer.bytes) return poison(page, bytes);
  const ptrdiff_t size = ptrdiff_t(buffer.bytes);
  ptrdiff_t at = (page - buffer.begin) % size;
  if (at < 0) at += size;
  for (size_t done = 0; done < bytes;) {
    size_t part = bytes - done < size_t(size - at) ? bytes - done : size_t(size - at);
    memcpy(page + done, buffer.begin + at, part);
    done += part;
    at = 0;
  }
}

// Whether it is a page that nothing was ever written to.
bool is_zero(const unsigned char *page) { return !memcmp(page, page + 1, page_bytes() - 1); }

void note_beyond(Buffer &buffer, const unsigned char *first, const unsigned char *last) {
  const unsigned char *end = buffer.begin + buffer.bytes;
  gi_beyond &beyond = buffer.beyond;
  if (first < buffer.begin && size_t(buffer.begin - first) > beyond.before) beyond.before = size_t(buffer.begin - first);
  if (first >= end && size_t(last - end) > beyond.most) {
    beyond.least = size_t(first - end) + 1;
    beyond.most = size_t(last - end);
  }
}

// The margins, where nothing stops an access: what was written there counts as well.
void note_margins(Buffer &buffer) {
  unsigned char *end = buffer.begin + buffer.bytes, *behind = buffer.pages + buffer.pages_bytes;
  unsigned char *first = buffer.pages, *last = behind;
  const unsigned char *byte = reinterpret_cast<const unsigned char *>(&buffer.margin);
  while (first < buffer.begin && *first == byte[size_t(first - buffer.pages) % 4]) ++first;
  while (last > end && last[-1] == byte[size_t(last - 1 - end) % 4]) --last;
  if (first < buffer.begin) note_beyond(buffer, first, first);
  if (last > end) note_beyond(buffer, last - 1, last);
  close_margins(buffer);
}

}  // namespace

bool give_way(const void *address) {
  if (!giving) return false;
  for (Buffer *buffer = buffers; buffer; buffer = buffer->next) {
    if (size_t(static_cast<const unsigned char *>(address) - buffer->region) >= buffer->region_bytes) continue;
    const unsigned char *at = static_cast<const unsigned char *>(address);
    unsigned char *page = buffer->region + size_t(at - buffer->region) / page_bytes() * page_bytes();
    if (mprotect(page, page_bytes(), PROT_READ | PROT_WRITE)) return false;
    if (*page == 0 && is_zero(page)) continue_data(page, *buffer);
    bool last = ++watched >= kWatched || given_pages == kPages;
    note_beyond(*buffer, at, last ? page + page_bytes() : at + 1);
    if (!last) given[given_pages++] = page;
    return true;
  }
  return false;
}

bool is_watched() { return given_pages; }

void take_back() {
  while (given_pages) mprotect(given[--given_pages], page_bytes(), PROT_NONE);
}

size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

void poison(void *begin, size_t bytes, uint32_t word) {
  unsigned char *at = static_cast<unsigned char *>(begin);
  for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) memcpy(at, &word, sizeof word);
  if (bytes) memcpy(at, &word, bytes);
}

Place find_buffer(const void *address) {
  for (const Buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (size_t(static_cast<const unsigned char *>(address) - buffer->region) < buffer->region_bytes)
      return {buffer->name, buffer->begin, buffer->bytes};
  return {nullptr, nullptr, 0};
}

void close_margins(const gi_shared &one, uint32_t margin) {
  poison(one.begin - one.before, one.before, margin);
  poison(one.begin + one.bytes, one.behind, margin);
}

const gi_shared *overrun_shared(const gi_kernel &kernel) {
  for (unsigned at = 0; at < kernel.shared_count; ++at) {
    const gi_shared &one = kernel.shared[at];
    const uint32_t margin = margin_of(at);
    if (!holds(one.begin - one.before, one.before, margin) || !holds(one.begin + one.bytes, one.behind, margin)) {
      close_margins(one, margin);
      return &one;
    }
  }
  return nullptr;
}

const char *overrun_buffer() {
  if (giving) {
    for (Buffer *buffer = buffers; buffer; buffer = buffer->next) note_margins(*buffer);
    return nullptr;
  }
  for (const Buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (is_overrun(*buffer)) return buffer->name;
  return nullptr;
}

unsigned char *reserve_dynamic_shared(size_t bytes) {
  if (!dynamic_shared || dynamic_shared->bytes != bytes) {
    if (dynamic_shared) unmap(dynamic_shared);
    dynamic_shared = map(bytes, 16, "dynamic shared memory");
  }
  return dynamic_shared ? dynamic_shared->begin : nullptr;
}

}  // namespace gi

using namespace gi;

extern "C" {

void *gi_alloc(size_t bytes, size_t alignment, const char *name) {
  Buffer *buffer = map(bytes, alignment ? alignment : 1, name);
  return buffer ? buffer->begin : nullptr;
}

bool gi_open_shared(const gi_shared *shared, unsigned count) {
  for (unsigned at = 0; at < count; ++at) {
    const gi_shared &one = shared[at];
    if (!one.pages) continue;
    if (mprotect(one.begin - one.before, one.before + one.bytes + one.behind, PROT_READ | PROT_WRITE)) return false;
    close_margins(one, margin_of(at));
  }
  return true;
}

void gi_give(int on) {
  giving = on;
  watched = 0;
}

const char *gi_gave(unsigned index, gi_beyond *beyond) {
  for (const Buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (index-- == 0) {
      *beyond = buffer->beyond;
      return buffer->name;
    }
  return nullptr;
}

void gi_free(void *begin) {
  for (Buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (buffer->begin == begin) return unmap(buffer);
}
}
