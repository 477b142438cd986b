/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtap.h: for C and C++ programs that name their phases and their GPU memory in memtap's reports.
 * Programs need only this file: without a preloaded libmemtap.so the calls do nothing (one lookup
 * at the first call of each, then a test).
 *
 *     memtap_range_push("simulate");
 *     cudaMalloc(&field, bytes);
 *     memtap_name(field, "velocity field");
 *     ...
 *     memtap_range_pop();
 *
 * Any thread, but not in signal handlers. Texts are UTF-8 and are copied. Ranges belong to their
 * thread and nest; `memtap report` shows them as phases. With a C library older than 2.34, link
 * with -ldl.
 */
#ifndef MEMTAP_H
#define MEMTAP_H

#ifndef _GNU_SOURCE
#define MEMTAP_UNDEF_GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RTLD_DEFAULT
#define RTLD_DEFAULT ((void *)0)
#endif

/* Return libmemtap.so's function of this name, or NULL; cached per file that includes this one. */
static inline void *memtap_find_(void **kept, const char *name)
{
    if (!*kept) {
        void *found = dlsym(RTLD_DEFAULT, name);
        *kept = found ? found : (void *)kept; /* the pointer itself: not found */
    }
    return *kept == (void *)kept ? NULL : *kept;
}

static inline void memtap_call_(void **kept, const char *function, const char *text)
{
    union {
        void *found;
        void (*call)(const char *);
    } f;
    f.found = memtap_find_(kept, function);
    if (f.found)
        f.call(text);
}

/* Begin a phase of this thread, within its open phases. */
static inline void memtap_range_push(const char *name)
{
    static void *kept;
    memtap_call_(&kept, "memtap_range_push", name);
}

/* End the innermost open phase of this thread. */
static inline void memtap_range_pop(void)
{
    static void *kept;
    memtap_call_(&kept, "memtap_range_pop", NULL);
}

/* Mark this moment. */
static inline void memtap_mark(const char *name)
{
    static void *kept;
    memtap_call_(&kept, "memtap_mark", name);
}

/* Start the recording of a program that is loaded with memtap and does not record:
 * MEMTAP_START=off, or after memtap_stop. Stop it: the call returns when the trace is complete. The
 * next start writes another trace, with .1 before .mtap in its name, then .2. Children decide for
 * themselves. */
static inline void memtap_start(void)
{
    static void *kept;
    memtap_call_(&kept, "memtap_start", NULL);
}

static inline void memtap_stop(void)
{
    static void *kept;
    memtap_call_(&kept, "memtap_stop", NULL);
}

/* As memtap_start; the recording stops after so many seconds or iterations, whichever comes first.
 * 0: no such limit. */
static inline void memtap_start_for(unsigned seconds, unsigned iterations)
{
    static void *kept;
    union {
        void *found;
        void (*call)(unsigned, unsigned);
    } f;
    f.found = memtap_find_(&kept, "memtap_start_for");
    if (f.found)
        f.call(seconds, iterations);
}

/* Request a sample of the memory in use on the devices, including contexts, modules and other
 * processes. It is in the trace a little later: `memtap report --at TIME` shows the sample nearest
 * to a moment. */
static inline void memtap_sample(void)
{
    static void *kept;
    memtap_call_(&kept, "memtap_sample", NULL);
}

/* Find what keeps each block of PyTorch's GPU memory alive now, for memtap holders: a child process
 * searches a copy of the program's memory, whose page tables the call waits for. If searches take
 * more than a twentieth of the time, the call does nothing. */
static inline void memtap_holders(void)
{
    static void *kept;
    memtap_call_(&kept, "memtap_holders", NULL);
}

/* Name the device memory that contains this address in reports, until it is freed. */
static inline void memtap_name(const void *address, const char *name)
{
    static void *kept;
    union {
        void *found;
        void (*call)(const void *, const char *);
    } f;
    f.found = memtap_find_(&kept, "memtap_name");
    if (f.found)
        f.call(address, name);
}

#ifdef __cplusplus
}
#endif

#ifdef MEMTAP_UNDEF_GNU_SOURCE
#undef MEMTAP_UNDEF_GNU_SOURCE
#undef _GNU_SOURCE
#endif

#endif
