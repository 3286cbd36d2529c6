// MPI_Pcontrol and PMPI_Pcontrol take any arguments after the level, which are for a tool: ddbg_note_pcontrol (pcontrol.cc)
// looks at the first two words and says which function is the real one; that gets registers, stack and return address as the program left them.
  .text
#if defined(__x86_64__)
  .macro pcontrol name, profiling
  .globl \name
  .type \name, %function
\name:
  .cfi_startproc
  endbr64
  pushq %rbp            // a frame of its own, by which a stack is recognised (recorder/stack_memo.h)
  .cfi_adjust_cfa_offset 8
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $192, %rsp
  movq %rdi, (%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)   // al: how many vector registers hold arguments
  testb %al, %al
  je 1f
  movaps %xmm0, 64+0(%rsp)
  movaps %xmm1, 64+16(%rsp)
  movaps %xmm2, 64+32(%rsp)
  movaps %xmm3, 64+48(%rsp)
  movaps %xmm4, 64+64(%rsp)
  movaps %xmm5, 64+80(%rsp)
  movaps %xmm6, 64+96(%rsp)
  movaps %xmm7, 64+112(%rsp)
1:
  movl $\profiling, %edx
  movq %rbp, %rcx
  call ddbg_note_pcontrol
  movq %rax, %r11
  movq 48(%rsp), %rax
  testb %al, %al
  je 2f
  movaps 64+0(%rsp), %xmm0
  movaps 64+16(%rsp), %xmm1
  movaps 64+32(%rsp), %xmm2
  movaps 64+48(%rsp), %xmm3
  movaps 64+64(%rsp), %xmm4
  movaps 64+80(%rsp), %xmm5
  movaps 64+96(%rsp), %xmm6
  movaps 64+112(%rsp), %xmm7
2:
  movq (%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  leave
  .cfi_restore %rbp
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_endproc
  .size \name, .-\name
  .endm
#elif defined(__aarch64__)
  .macro pcontrol name, profiling
  .globl \name
  .type \name, %function
\name:
  .cfi_startproc
  hint #34  // bti c
  stp x29, x30, [sp, #-208]!
  .cfi_def_cfa_offset 208
  .cfi_offset x29, -208
  .cfi_offset x30, -200
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp q0, q1, [sp, #80]
  stp q2, q3, [sp, #112]
  stp q4, q5, [sp, #144]
  stp q6, q7, [sp, #176]
  mov w2, #\profiling
  mov x3, x29
  bl ddbg_note_pcontrol
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp q0, q1, [sp, #80]
  ldp q2, q3, [sp, #112]
  ldp q4, q5, [sp, #144]
  ldp q6, q7, [sp, #176]
  ldp x29, x30, [sp], #208
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size \name, .-\name
  .endm
#else
#error "no MPI_Pcontrol for this architecture"
#endif
  pcontrol MPI_Pcontrol, 0
  pcontrol PMPI_Pcontrol, 1
  .hidden ddbg_note_pcontrol
  .section .note.GNU-stack, "", %progbits
