/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"
#include "say.h"
#include "trace-format/settings/size.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_REPORTED 16

static void note(const char *name, const char *what, _Atomic bool *is_noted)
{
    if (atomic_exchange_explicit(is_noted, 1, memory_order_relaxed))
        return;
    sim_print("%s is not modelled; it %s", name, what);
}

int sim_grow(void *list, size_t count, size_t *room, size_t each)
{
    size_t wanted = *room ? *room * 2 : 8;
    void *bigger;
    if (count < *room)
        return 0;
    memcpy(&bigger, list, sizeof(bigger));
    bigger = realloc(bigger, wanted * each);
    if (!bigger)
        return -ENOMEM;
    memcpy(list, &bigger, sizeof(bigger));
    *room = wanted;
    return 0;
}

void sim_note_success(const char *name, _Atomic bool *is_noted)
{
    note(name, "returned success and did nothing", is_noted);
}

void sim_note_refusal(const char *name, _Atomic bool *is_noted)
{
    note(name, "returned \"not supported\"", is_noted);
}

void sim_note_unsupported(const char *name, _Atomic bool *is_noted)
{
    if (!atomic_exchange_explicit(is_noted, 1, memory_order_relaxed))
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
    sim_print_args(format, args);
    va_end(args);
}

/* Print once for each of our variables what is wrong with it; the names are literals. */
static void say_invalid(const char *name, const char *text, const char *wrong, uint64_t otherwise)
{
    static const char *_Atomic reported[MOST_REPORTED];
    if (strncmp(name, "CUDASIM_", 8))
        return;
    for (int i = 0; i < MOST_REPORTED; i++) {
        const char *empty = NULL;
        if (atomic_compare_exchange_strong(&reported[i], &empty, name)) {
            sim_print("%s '%s' %s (using %llu)", name, text, wrong, (unsigned long long)otherwise);
            return;
        }
        if (!strcmp(empty, name))
            return;
    }
}

uint64_t sim_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    int saved = errno;
    if (!text || !*text)
        return otherwise;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    bool is_valid = *text >= '0' && *text <= '9' && !*end && !errno;
    errno = saved;
    if (is_valid)
        return number;
    say_invalid(name, text, "is not a number", otherwise);
    return otherwise;
}

uint64_t sim_environment_size(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char wrong[MT_SIZE_WRONG];
    uint64_t bytes;
    int rc = text && *text ? mt_size_parse(text, &bytes) : -ENOENT;
    if (!rc)
        return bytes;
    if (rc != -ENOENT)
        say_invalid(name, text, mt_size_wrong(text, rc, wrong, sizeof(wrong)), otherwise);
    return otherwise;
}

void *sim_new_handle(void)
{
    static _Atomic uintptr_t last = 0x5100000000;
    return (void *)atomic_fetch_add_explicit(&last, 64, memory_order_relaxed);
}
