// Changing from one stack to another: the registers that a function must preserve, and nothing else. The
// floating-point control words are not saved, since nothing here changes them.
#pragma once

// Saves the place where the caller is in *from and goes on where `to` was saved.
extern "C" void gi_switch(void **from, void *to);

#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl gi_switch
  .hidden gi_switch
  .type gi_switch, @function
gi_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size gi_switch, .-gi_switch
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .globl gi_switch
  .hidden gi_switch
  .type gi_switch, %function
gi_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size gi_switch, .-gi_switch
)");
#else
#error "gi-cuda's host backend knows how to switch fibres on x86-64 and aarch64 only"
#endif

namespace gi {

// Lays out a fresh stack so that the first switch to it enters `entry`, which must not return.
inline void *fresh_stack(unsigned char *top, void (*entry)()) {
  void **slot = reinterpret_cast<void **>(top);
#if defined(__x86_64__)
  // Where entry would return to: ends a debugger's walk, and puts the stack 8 bytes off a multiple of 16, as the ABI
  // wants it at a function's first instruction.
  *--slot = nullptr;
  *--slot = reinterpret_cast<void *>(entry);
  for (int i = 0; i < 6; ++i) *--slot = nullptr;
#else
  for (int i = 0; i < 20; ++i) *--slot = nullptr;
  slot[11] = reinterpret_cast<void *>(entry);  // x30
#endif
  return slot;
}

}  // namespace gi
