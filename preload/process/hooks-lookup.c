/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym: return our hooks to a program that looks up functions of CUDA's driver or runtime, or of
 * NCCL. The meaning of RTLD_NEXT and RTLD_DEFAULT depends on the caller, so the real dlsym must see
 * it: the hook jumps there with the stack unchanged, and answers itself only for these names.
 */
#include "preload/cuda/cudart.h"
#include "preload/cuda/driver.h"
#include "preload/cuda/hooks-nccl.h"
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

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

/* Entries to the runtime's hooks for callers that looked them up, one for each runtime that they
 * may mean. An entry sets the runtime and jumps to the hook. */
#define WAY_IN(name, symbol, way)                                                                  \
    __attribute__((visibility("hidden"))) void mt_looked_up_##name##_##way(void);                  \
    __asm__(".text\n"                                                                              \
            ".type mt_looked_up_" #name "_" #way ", @function\n"                                   \
            "mt_looked_up_" #name "_" #way ":\n"                                                   \
            "    movq mt_cudart_way@gottpoff(%rip), %rax\n"                                        \
            "    movb $" #way ", %fs:(%rax)\n"                                                     \
            "    jmp " symbol "@PLT\n"                                                             \
            ".size mt_looked_up_" #name "_" #way ", . - mt_looked_up_" #name "_" #way "\n");
#define WAYS_IN(name, symbol, library, result, parameters)                                         \
    WAY_IN(name, symbol, 1)                                                                        \
    WAY_IN(name, symbol, 2) WAY_IN(name, symbol, 3) WAY_IN(name, symbol, 4)
MT_CUDART_HOOKS(WAYS_IN)

static const struct {
    const char *symbol;
    void *way_in[MT_CUDART_WAYS];
} ways_in[] = {
#define WAYS_IN_ROW(name, symbol, library, result, parameters)                                     \
    {symbol,                                                                                       \
     {(void *)mt_looked_up_##name##_1, (void *)mt_looked_up_##name##_2,                            \
      (void *)mt_looked_up_##name##_3, (void *)mt_looked_up_##name##_4}},
    MT_CUDART_HOOKS(WAYS_IN_ROW)};

static void *wrap_runtime(const char *symbol, void *found)
{
    for (size_t i = 0; found && !mt_is_ours(found) && i < sizeof ways_in / sizeof *ways_in; i++) {
        if (strcmp(ways_in[i].symbol, symbol))
            continue;
        unsigned way = mt_cudart_way_of(symbol, found);
        return way ? ways_in[i].way_in[way - 1] : found;
    }
    return found;
}

static MT_UNSANITIZED bool is_capital(char letter)
{
    return letter >= 'A' && letter <= 'Z';
}

/* Return whether only we have the function. A program may use this to check for CUDA. */
static bool is_only_ours(const char *symbol)
{
    return mt_is_ours(mt_real_dlsym(RTLD_DEFAULT, symbol)) && !mt_find_real(symbol, NULL);
}

static MT_UNSANITIZED bool is_drivers(const char *symbol)
{
    return symbol[0] == 'c' && symbol[1] == 'u' && is_capital(symbol[2]);
}

static MT_UNSANITIZED bool is_runtimes(const char *symbol)
{
    return symbol[0] == 'c' && symbol[1] == 'u' && symbol[2] == 'd' && symbol[3] == 'a' &&
           is_capital(symbol[4]);
}

static MT_UNSANITIZED bool is_nccls(const char *symbol)
{
    return symbol[0] == 'n' && symbol[1] == 'c' && symbol[2] == 'c' && symbol[3] == 'l';
}

/* Return the hook for what a handle has. */
static void *wrap(const char *symbol, void *found)
{
    return is_nccls(symbol)     ? mt_nccl_wrap(symbol, found)
           : is_drivers(symbol) ? mt_driver_wrap_symbol(symbol, found)
                                : wrap_runtime(symbol, found);
}

/* Return the address to jump to, or NULL if *answer is the result. */
MT_UNSANITIZED void *mt_lookup(void *handle, const char *symbol, void **answer)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))mt_real_dlsym_function();
    if (!real)
        return (void *)no_dlsym;
    if (handle == RTLD_NEXT || !symbol ||
        !(is_drivers(symbol) || is_runtimes(symbol) || is_nccls(symbol)))
        return (void *)real;
    if (handle == RTLD_DEFAULT) {
        if (!is_only_ours(symbol))
            return (void *)real;
        *answer = real(RTLD_NEXT, symbol); /* NULL, with dlerror set */
        return NULL;
    }
    /* The program's own handle finds our hooks, too. */
    void *found = real(handle, symbol);
    bool is_alone = found && mt_is_ours(found) && !mt_find_real(symbol, NULL);
    *answer = is_alone ? real(RTLD_NEXT, symbol) : wrap(symbol, found);
    return NULL;
}

/* clang-format off */
__asm__(".text\n"
        MT_GLOBAL("dlsym")
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
