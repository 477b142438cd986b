// SPDX-License-Identifier: Apache-2.0
// C++ exceptions through every hook: calls each function, which throws (throws.cc), prints its name and what was caught; then allocates
// once more by the runtime and by the driver.
#include "all-hooks.h"

#include <cstdio>
#include <stdexcept>

extern "C" bool throws_now;

// Whoever reads what an argument points to finds addresses of this again.
static void *room[4096];

struct Guard {
    int *count;
    ~Guard()
    {
        ++*count; // while the exception passes
    }
};

static int passed;

// With as many arguments as any has, in registers and on the stack.
static void call(const char *symbol, void *function)
{
    using any = void *(*)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                          void *, void *, void *, void *, void *, void *, void *, void *, void *);
    Guard guard = {&passed};
    void *at = room;
    try {
        Guard inner = {&passed};
        reinterpret_cast<any>(function)(at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at);
        std::printf("%s: nothing\n", symbol);
    } catch (const std::runtime_error &error) {
        std::printf("%s: %s\n", symbol, error.what());
    }
}

#define CALL(name, symbol, library, result, parameters)                                            \
    call(symbol, reinterpret_cast<void *>(&mt_hook_##name));
#define CALL_OF_DRIVER(name, base, symbol, since, until, parameters)                               \
    call(symbol, reinterpret_cast<void *>(&mt_hook_##name));

int main()
{
    for (void *&word : room)
        word = room;
    ALL_HOOKS(CALL)
    MT_DRIVER_HOOKS(CALL_OF_DRIVER)
    throws_now = false;
    void *address = room;
    uint64_t number = 0x700000000000;
    std::printf("%d passed\n", passed);
    std::printf("%u ", mt_hook_cuda_malloc(&address, 12345));
    std::printf("%u\n", mt_hook_cu_mem_alloc(&number, 54321));
    return 0;
}
