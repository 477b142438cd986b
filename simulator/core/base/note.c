/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"
#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void note(const char *name, const char *what, _Atomic int *told)
{
    if (atomic_exchange_explicit(told, 1, memory_order_relaxed))
        return;
    sim_say("%s is not modelled; it %s", name, what);
}

void sim_note_success(const char *name, _Atomic int *told)
{
    note(name, "returned success and did nothing", told);
}

void sim_note_refusal(const char *name, _Atomic int *told)
{
    note(name, "returned \"not supported\"", told);
}

void sim_note_unsupported(const char *name, _Atomic int *told)
{
    if (!atomic_exchange_explicit(told, 1, memory_order_relaxed))
        sim_verbose("%s is not modelled; it returned \"not supported\"", name);
}

void sim_verbose(const char *format, ...)
{
    static _Atomic int wanted; /* 0 not known, 1 no, 2 yes */
    va_list args;

    if (!wanted)
        wanted = getenv("CUDASIM_VERBOSE") ? 2 : 1;
    if (wanted == 1)
        return;
    va_start(args, format);
    sim_say_with(format, args);
    va_end(args);
}

uint64_t sim_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    uint64_t number;

    if (!text || *text < '0' || *text > '9')
        return otherwise;
    number = strtoull(text, &end, 10);
    return *end ? otherwise : number;
}

void *sim_new_handle(void)
{
    static _Atomic uintptr_t last = 0x5100000000;

    return (void *)atomic_fetch_add_explicit(&last, 64, memory_order_relaxed);
}
