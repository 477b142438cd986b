/* SPDX-License-Identifier: Apache-2.0 */
/* moved-stacks: allocates on a stack of its own, then on a smaller one at the same place, above
 * which nothing can be read. As in hand-made coroutines, nobody's frame lies above. */
#include <stddef.h>
#include <sys/mman.h>

#define LARGE (1u << 20)
#define SMALL (1u << 16)

unsigned cudaMalloc(void **address, size_t size);

static void allocate(void)
{
    void *address;
    cudaMalloc(&address, 512);
}

void call_on(char *top, void (*function)(void));

/* clang-format off */
__asm__(".text\n"
        ".type call_on, @function\n"
        "call_on:\n"
        ".cfi_startproc\n"
        "    pushq %rbx\n"
        "    movq %rsp, %rbx\n"
        "    movq %rdi, %rsp\n"
        "    callq *%rsi\n"
        "    movq %rbx, %rsp\n"
        "    popq %rbx\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size call_on, .-call_on\n");
/* clang-format on */

int main(void)
{
    allocate();
    char *stack =
        mmap(NULL, LARGE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + LARGE, 4096, PROT_NONE))
        return 2;
    call_on(stack + LARGE, allocate);
    if (mprotect(stack + SMALL, LARGE - SMALL, PROT_NONE))
        return 3;
    call_on(stack + SMALL, allocate);
    return 0;
}
