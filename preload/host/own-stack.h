/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of ours: the program's thread may have 16 KiB. */
#ifndef MT_PRELOAD_OWN_STACK_H
#define MT_PRELOAD_OWN_STACK_H

/* Call a function on another stack, from its top down. The frame pointer lets a debugger find its
 * way back to the caller's stack. */
static __attribute__((noinline, unused)) void mt_call_on_stack(char *top, void (*function)(void))
{
    __asm__ volatile("" ::"r"(__builtin_frame_address(0)));
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %0, %%rsp\n\t"
                     "call *%1\n\t"
                     "movq %%rbx, %%rsp"
                     : "+r"(top), "+r"(function)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

#endif
