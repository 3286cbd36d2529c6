// The exported dlopen: tells ddbg_note_dlopen(path, mode, return address) in deep_binding.cc, then jumps to the real one with arguments, stack and
// return address as the program left them: where a library is looked for depends on who asks.
  .text
  .globl dlopen
  .type dlopen, %function
#if defined(__x86_64__)
dlopen:
  .cfi_startproc
  endbr64
  subq $24, %rsp
  .cfi_adjust_cfa_offset 24
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq 24(%rsp), %rdx
  call ddbg_note_dlopen
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  jmp *%rax
  .cfi_endproc
#elif defined(__aarch64__)
dlopen:
  .cfi_startproc
  hint #34  // bti c
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  stp x0, x1, [sp, #16]
  mov x2, x30
  bl ddbg_note_dlopen
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
#else
#error "no dlopen for this architecture"
#endif
  .size dlopen, .-dlopen
  .hidden ddbg_note_dlopen
  .section .note.GNU-stack, "", %progbits
