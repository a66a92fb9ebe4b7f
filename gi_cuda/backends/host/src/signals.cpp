// Says in one line why a signal ends the process, then lets it end the process.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "internal.hpp"

namespace gi {
namespace {

int report_descriptor = -1;

// Builds a line without what may not be called in a signal handler.
class Line {
 public:
  Line &operator<<(const char *text) {
    while (*text && length_ < sizeof text_ - 1) text_[length_++] = *text++;
    return *this;
  }
  Line &operator<<(uint64_t value) { return number(value, 10); }
  Line &operator<<(const void *address) { return (*this << "0x").number(uint64_t(address), 16); }
  Line &operator<<(const gi_index &index) {
    return *this << "(" << uint64_t(index.x) << "," << uint64_t(index.y) << "," << uint64_t(index.z) << ")";
  }
  void write_to(int descriptor) {
    text_[length_++] = '\n';
    for (size_t done = 0; done < length_;) {
      ssize_t written = write(descriptor, text_ + done, length_ - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      done += size_t(written);
    }
  }

 private:
  Line &number(uint64_t value, unsigned base) {
    char digits[24];
    char *at = digits + sizeof digits - 1;
    *at = 0;
    do *--at = "0123456789abcdef"[value % base];
    while (value /= base);
    return *this << at;
  }
  char text_[512];
  size_t length_ = 0;
};

// What the processor says the access was; "access" where it does not say.
const char *access_kind(const void *context) {
  const ucontext_t *machine = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
  return machine->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
  (void)machine;
  return "access";
#endif
}

void describe_access(Line &line, const siginfo_t *info, const void *context) {
  const unsigned char *address = static_cast<const unsigned char *>(info->si_addr);
  const char *kind = access_kind(context);
  if (is_stack_guard(address)) {
    line << "stack overflow";
    return;
  }
  Place place = find_buffer(address);
  if (!place.name) place = find_shared(address);
  if (place.name) {
    const unsigned char *begin = static_cast<const unsigned char *>(place.begin);
    line << kind << " ";
    if (address < begin)
      line << uint64_t(begin - address) << " bytes before the begin";
    else
      line << uint64_t(address - (begin + place.bytes)) << " bytes past the end";
    line << " of '" << place.name << "' (" << uint64_t(place.bytes) << " bytes)";
  } else if (info->si_signo == SIGSEGV && info->si_code == SI_KERNEL) {
    line << "access to an impossible address, or a misaligned one";
  } else if (uint64_t(address) < page_bytes()) {
    line << kind << " through a null pointer (address " << static_cast<const void *>(address) << ")";
  } else {
    line << kind << " at " << static_cast<const void *>(address) << ", which is in no buffer";
  }
}

void on_signal(int signal, siginfo_t *info, void *context);

// Whether the access can go on: its guard has given way. After its instruction the guard is there again, where the
// processor can be told to stop then.
bool goes_on(int signal, const siginfo_t *info, ucontext_t *machine) {
#if defined(__x86_64__)
  const greg_t kTrap = 0x100;
  greg_t &flags = machine->uc_mcontext.gregs[REG_EFL];
  if (signal == SIGTRAP && is_watched()) {
    take_back();
    flags &= ~kTrap;
    return true;
  }
  if (signal != SIGSEGV || info->si_code <= 0 || !give_way(info->si_addr)) return false;
  if (is_watched()) flags |= kTrap;
  return true;
#else
  return signal == SIGSEGV && info->si_code > 0 && give_way(info->si_addr);
#endif
}

void handle(int signal) {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | int(SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

void on_signal(int signal, siginfo_t *info, void *context) {
  int error = errno;
  if (goes_on(signal, info, static_cast<ucontext_t *>(context))) {
    handle(signal);
    errno = error;
    return;
  }
  Line line;
  switch (signal) {
    case SIGSEGV:
    case SIGBUS: describe_access(line, info, context); break;
    case SIGFPE: line << "integer division by zero or overflow"; break;
    case SIGABRT: line << "assertion failed, or abort"; break;
    default: line << "__trap, or code that must not be reached";
  }
  Where place = where();
  if (place.running)
    line << " in thread " << place.thread << " of block " << place.block;
  else
    line << " outside any kernel";
  line.write_to(report_descriptor);
  errno = error;
  // SA_RESETHAND has put the default action back: going on does the same once more, and that ends the process.
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

int report_to() { return report_descriptor; }

}  // namespace gi

extern "C" void gi_report(int descriptor) {
  using namespace gi;
  report_descriptor = descriptor;
  page_bytes();

  // Handlers need a stack of their own: the one in use may be the one that is full.
  static void *stack;
  const size_t bytes = size_t(64) << 10;
  if (!stack) stack = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack_t alternate = {};
  alternate.ss_sp = stack;
  alternate.ss_size = bytes;
  sigaltstack(&alternate, nullptr);

  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  for (int signal : signals) handle(signal);
}
