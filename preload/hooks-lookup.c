/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym: a program that looks the CUDA driver's functions up gets our hooks. What RTLD_NEXT and
 * RTLD_DEFAULT mean depends on the caller, so that the real dlsym has to see it: the hook jumps
 * there with the stack as it was, and answers by itself only for the driver's names.
 */
#include "driver.h"
#include "hooks.h"
#include "real.h"

#include <dlfcn.h>

#if !defined(__x86_64__)
#error "the dlsym hook is written for x86-64"
#endif

__attribute__((used, visibility("hidden"))) void *mt_lookup(void *handle, const char *symbol,
                                                            void **answer);

static void *no_dlsym(void *handle, const char *symbol)
{
    (void)handle;
    (void)symbol;
    return NULL;
}

/* Where to jump to; NULL: *answer is the result. */
void *mt_lookup(void *handle, const char *symbol, void **answer)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))mt_real_dlsym_function();
    if (!real)
        return (void *)no_dlsym;
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !symbol || symbol[0] != 'c' ||
        symbol[1] != 'u' || symbol[2] < 'A' || symbol[2] > 'Z')
        return (void *)real;
    *answer = mt_driver_wrap_symbol(symbol, real(handle, symbol));
    return NULL;
}

/* clang-format off */
__asm__(".text\n"
        ".globl dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "    subq $24, %rsp\n"
        ".cfi_adjust_cfa_offset 24\n"
        "    movq %rdi, (%rsp)\n"
        "    movq %rsi, 8(%rsp)\n"
        "    leaq 16(%rsp), %rdx\n"
        "    call mt_lookup\n"
        "    movq (%rsp), %rdi\n"
        "    movq 8(%rsp), %rsi\n"
        "    movq 16(%rsp), %rdx\n"
        "    addq $24, %rsp\n"
        ".cfi_adjust_cfa_offset -24\n"
        "    testq %rax, %rax\n"
        "    jz 1f\n"
        "    jmp *%rax\n"
        "1:  movq %rdx, %rax\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size dlsym, .-dlsym\n");
