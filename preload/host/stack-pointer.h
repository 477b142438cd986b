/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_PRELOAD_STACK_POINTER_H
#define MT_PRELOAD_STACK_POINTER_H

#include <stdint.h>

/* Return the stack pointer of the function that this is inlined into. */
static inline __attribute__((always_inline)) uintptr_t mt_stack_pointer(void)
{
    uintptr_t sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    return sp;
}

#endif
