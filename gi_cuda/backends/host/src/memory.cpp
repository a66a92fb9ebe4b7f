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
  char name[96];
};

Buffer *buffers;
Buffer *dynamic_shared;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

bool is_poison(const unsigned char *begin, size_t bytes) {
  const uint32_t word = GI_POISON;
  if (bytes <= sizeof word) return !memcmp(begin, &word, bytes);
  // The first word, and each word like the one before it.
  return !memcmp(begin, &word, sizeof word) && !memcmp(begin, begin + sizeof word, bytes - sizeof word);
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
  buffer->bytes = bytes;
  buffer->begin = buffer->pages + (buffer->pages_bytes - round_up(bytes, alignment));
  snprintf(buffer->name, sizeof buffer->name, "%s", name);
  poison(buffer->pages, buffer->pages_bytes);
  // The margin behind the data is checked against a pattern that begins where the data ends.
  poison(buffer->begin + bytes, size_t(buffer->pages + buffer->pages_bytes - buffer->begin) - bytes);
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

}  // namespace

size_t page_bytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

void poison(void *begin, size_t bytes) {
  const uint32_t word = GI_POISON;
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

const char *overrun_buffer() {
  for (const Buffer *buffer = buffers; buffer; buffer = buffer->next) {
    const unsigned char *end = buffer->begin + buffer->bytes;
    if (!is_poison(buffer->pages, size_t(buffer->begin - buffer->pages)) ||
        !is_poison(end, size_t(buffer->pages + buffer->pages_bytes - end)))
      return buffer->name;
  }
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

void gi_free(void *begin) {
  for (Buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (buffer->begin == begin) return unmap(buffer);
}
}
