// The exported dlsym: asks ddbg_answer_dlsym(handle, name, return address) in dlsym_hook.cc, then either returns its answer or jumps to the real dlsym
// with arguments, stack and return address as the program left them.
  .text
  .globl dlsym
  .type dlsym, %function
#if defined(__x86_64__)
dlsym:
  .cfi_startproc
  endbr64
  subq $24, %rsp
  .cfi_adjust_cfa_offset 24
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq 24(%rsp), %rdx
  call ddbg_answer_dlsym
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  testq %rdx, %rdx
  je 1f
  ret
1:
  jmp *ddbg_real_dlsym(%rip)
  .cfi_endproc
#elif defined(__aarch64__)
dlsym:
  .cfi_startproc
  hint #34  // bti c
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  stp x0, x1, [sp, #16]
  mov x2, x30
  bl ddbg_answer_dlsym
  mov x9, x0
  mov x10, x1
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  cbz x10, 1f
  mov x0, x9
  ret
1:
  adrp x9, ddbg_real_dlsym
  ldr x9, [x9, :lo12:ddbg_real_dlsym]
  br x9
  .cfi_endproc
#else
#error "no dlsym for this architecture"
#endif
  .size dlsym, .-dlsym
  .hidden ddbg_answer_dlsym
  .hidden ddbg_real_dlsym
  .section .note.GNU-stack, "", %progbits
