/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of hooks-noticed.h: they jump to the real function with registers and stack unchanged,
 * so the parameters do not matter. */
#include "cuda-memory.h"
#include "cudart.h"
#include "driver.h"
#include "preload/host/notice.h"
#include "preload/uses/uses.h"

#include <string.h>

#define HIDDEN __attribute__((used, visibility("hidden")))

struct of_runtime {
    const char *symbol;
    size_t function; /* its place in struct mt_cudart */
};

struct of_driver {
    const char *symbol;
    enum mt_driver_hook hook;
    void *_Atomic *function;
};

HIDDEN void *mt_notice_runtime(const struct of_runtime *call, const void *caller);
HIDDEN void *mt_notice_driver(const struct of_driver *call, const void *caller);

static unsigned no_function(void)
{
    return MT_CUDA_NO_FUNCTION;
}

/* Record what is known of the memory that the call uses. */
static void note_use(const char *symbol)
{
    if (strstr(symbol, "GraphLaunch"))
        mt_uses_graph_launch();
    else
        mt_uses_unseen(symbol);
}

/* Skip calls within a call that is an event of its own. */
static void notice(const char *symbol)
{
    if (mt_cuda_is_inside())
        return;
    mt_notice(symbol);
    if (mt_uses_are_on())
        note_use(symbol);
}

/* Return the address to jump to. */
void *mt_notice_runtime(const struct of_runtime *call, const void *caller)
{
    const struct mt_cudart *runtime = mt_cudart_of(caller);
    void *function = NULL;
    notice(call->symbol);
    if (runtime)
        memcpy(&function, (const char *)runtime + call->function, sizeof function);
    return function ? function : (void *)no_function;
}

void *mt_notice_driver(const struct of_driver *call, const void *caller)
{
    (void)caller;
    notice(call->symbol);
    void *function = atomic_load_explicit(call->function, memory_order_acquire);
    if (!function) {
        mt_driver_resolve(call->hook);
        function = atomic_load_explicit(call->function, memory_order_acquire);
    }
    return function ? function : (void *)no_function;
}

/* clang-format off */
#define JUMP(symbol, call, find)                                                                   \
    __asm__(".text\n"                                                                              \
            MT_GLOBAL(symbol)                                                                      \
            ".type " symbol ", @function\n"                                                        \
            symbol ":\n"                                                                           \
            ".cfi_startproc\n"                                                                     \
            "    subq $56, %rsp\n"                                                                 \
            ".cfi_adjust_cfa_offset 56\n"                                                          \
            "    movq %rdi, (%rsp)\n"                                                              \
            "    movq %rsi, 8(%rsp)\n"                                                             \
            "    movq %rdx, 16(%rsp)\n"                                                            \
            "    movq %rcx, 24(%rsp)\n"                                                            \
            "    movq %r8, 32(%rsp)\n"                                                             \
            "    movq %r9, 40(%rsp)\n"                                                             \
            "    leaq " call "(%rip), %rdi\n"                                                      \
            "    movq 56(%rsp), %rsi\n"                                                            \
            "    call " find "\n"                                                                  \
            "    movq (%rsp), %rdi\n"                                                              \
            "    movq 8(%rsp), %rsi\n"                                                             \
            "    movq 16(%rsp), %rdx\n"                                                            \
            "    movq 24(%rsp), %rcx\n"                                                            \
            "    movq 32(%rsp), %r8\n"                                                             \
            "    movq 40(%rsp), %r9\n"                                                             \
            "    addq $56, %rsp\n"                                                                 \
            ".cfi_adjust_cfa_offset -56\n"                                                         \
            "    jmp *%rax\n"                                                                      \
            ".cfi_endproc\n"                                                                       \
            ".size " symbol ", . - " symbol "\n")
/* clang-format on */

#define RUNTIME_HOOK(name, symbol, library, result, parameters)                                    \
    HIDDEN const struct of_runtime mt_noticed_##name = {symbol, offsetof(struct mt_cudart, name)}; \
    JUMP(symbol, "mt_noticed_" #name, "mt_notice_runtime");
MT_CUDART_NOTICED_HOOKS(RUNTIME_HOOK)

#define DRIVER_HOOK(name, base, symbol, since, until, parameters)                                  \
    HIDDEN const struct of_driver mt_noticed_##name = {symbol, MT_DRIVER_##name,                   \
                                                       (void *_Atomic *)(void *)&mt_driver.name};  \
    JUMP(symbol, "mt_noticed_" #name, "mt_notice_driver");
MT_DRIVER_NOTICED_HOOKS(DRIVER_HOOK)
