/* Calls a kernel with known values in every register that a callee must keep and looks afterwards.
 */
#include "checkgemm.h"

#include <string.h>

#if defined(__x86_64__)

/* What check_call_asm leaves; the offsets are known to the assembly. */
struct after {
  uint64_t rbx, rbp, r12, r13, r14, r15; /*   0 .. 40 */
  uint64_t flags;                        /*  48 */
  uint32_t mxcsr, mxcsr_before;          /*  56, 60 */
  uint16_t cw, cw_before;                /*  64, 66 */
  uint32_t pad;                          /*  68 */
  uint32_t x87[7];                       /*  72: fnstenv, tag word in x87[2] */
};

void check_call_asm(void (*f)(void), const int64_t *arguments, struct after *after);

/* rdi: f, rsi: 14 arguments, rdx: struct after. Frame: 8 stack arguments, then rdx and the
 * controls. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl check_call_asm\n"
        ".hidden check_call_asm\n"
        ".type check_call_asm, @function\n"
        "check_call_asm:\n"
        "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  sub $88, %rsp\n"
        "  mov %rdx, 64(%rsp)\n"
        "  stmxcsr 72(%rsp)\n"
        "  fnstcw 76(%rsp)\n"
        "  mov %rdi, %r11\n"
        "  mov %rsi, %r10\n"
        "  mov 48(%r10), %rax\n  mov %rax, 0(%rsp)\n"
        "  mov 56(%r10), %rax\n  mov %rax, 8(%rsp)\n"
        "  mov 64(%r10), %rax\n  mov %rax, 16(%rsp)\n"
        "  mov 72(%r10), %rax\n  mov %rax, 24(%rsp)\n"
        "  mov 80(%r10), %rax\n  mov %rax, 32(%rsp)\n"
        "  mov 88(%r10), %rax\n  mov %rax, 40(%rsp)\n"
        "  mov 96(%r10), %rax\n  mov %rax, 48(%rsp)\n"
        "  mov 104(%r10), %rax\n  mov %rax, 56(%rsp)\n"
        "  mov 0(%r10), %rdi\n  mov 8(%r10), %rsi\n  mov 16(%r10), %rdx\n"
        "  mov 24(%r10), %rcx\n  mov 32(%r10), %r8\n  mov 40(%r10), %r9\n"
        "  movabs $0x0b0b0b0b0b0b0b0b, %rbx\n"
        "  movabs $0x1d1d1d1d1d1d1d1d, %rbp\n"
        "  movabs $0x2121212121212121, %r12\n"
        "  movabs $0x3131313131313131, %r13\n"
        "  movabs $0x4141414141414141, %r14\n"
        "  movabs $0x5151515151515151, %r15\n"
        "  xor %eax, %eax\n"
        "  cld\n"
        "  call *%r11\n"
        "  mov 64(%rsp), %rax\n"
        "  mov %rbx, 0(%rax)\n  mov %rbp, 8(%rax)\n  mov %r12, 16(%rax)\n"
        "  mov %r13, 24(%rax)\n  mov %r14, 32(%rax)\n  mov %r15, 40(%rax)\n"
        "  pushf\n  pop %rcx\n  mov %rcx, 48(%rax)\n"
        "  cld\n"
        "  stmxcsr 56(%rax)\n  mov 72(%rsp), %ecx\n  mov %ecx, 60(%rax)\n"
        "  fnstcw 64(%rax)\n  mov 76(%rsp), %cx\n  mov %cx, 66(%rax)\n"
        "  fnstenv 72(%rax)\n"
        "  fninit\n"
        "  fldcw 76(%rsp)\n"
        "  ldmxcsr 72(%rsp)\n"
        "  add $88, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
        "  ret\n"
        ".size check_call_asm, .-check_call_asm\n");

const char *check_call(void (*f)(void), const int64_t *arguments)
{
  struct after after;
  memset(&after, 0, sizeof after);
  check_call_asm(f, arguments, &after);
  if (after.rbx != 0x0b0b0b0b0b0b0b0bu) return "rbx";
  if (after.rbp != 0x1d1d1d1d1d1d1d1du) return "rbp";
  if (after.r12 != 0x2121212121212121u) return "r12";
  if (after.r13 != 0x3131313131313131u) return "r13";
  if (after.r14 != 0x4141414141414141u) return "r14";
  if (after.r15 != 0x5151515151515151u) return "r15";
  if (after.flags & 0x400) return "the direction flag";
  /* The low six bits are sticky exception flags, which any arithmetic may set. */
  if ((after.mxcsr & ~0x3fu) != (after.mxcsr_before & ~0x3fu)) return "MXCSR";
  if (after.cw != after.cw_before) return "the x87 control word";
  if ((after.x87[2] & 0xffff) != 0xffff) return "the x87 stack (not empty)";
  return NULL;
}

#else

const char *check_call(void (*f)(void), const int64_t *a)
{
  typedef void general(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                       int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  ((general *)f)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                 a[13]);
  return NULL;
}

#endif
