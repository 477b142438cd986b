/* SPDX-License-Identifier: Apache-2.0 */
#include "written.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "content.h"

enum {
    CHUNK = 64 << 10,
    CHUNKS_A_WORD = 64,
    SMALL = 1 << 20, /* up to this size pages are kept: they will soon be written again, and a page
                        costs more */
};

/* For the 47 bits of a program's addresses: 256 MiB, committed only where devices lie. */
#define WORDS (((size_t)1 << 47) / CHUNK / CHUNKS_A_WORD)

static _Atomic(_Atomic uint64_t *) words; /* NULL: nothing was written yet */

static _Atomic uint64_t *make_words(void)
{
    _Atomic uint64_t *none = NULL;
    void *made = mmap(NULL, WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL; /* no memory: contents stay */
    madvise(made, WORDS * sizeof(uint64_t), MADV_NOHUGEPAGE);
    if (!atomic_compare_exchange_strong(&words, &none, (_Atomic uint64_t *)made)) {
        munmap(made, WORDS * sizeof(uint64_t));
        return none;
    }
    return made;
}

static _Atomic uint64_t *word_of(_Atomic uint64_t *all, uintptr_t address)
{
    return &all[address / CHUNK / CHUNKS_A_WORD % WORDS];
}

static uint64_t bit_of(uintptr_t address)
{
    return (uint64_t)1 << address / CHUNK % CHUNKS_A_WORD;
}

/* Return the end of the aligned piece of `size` bytes that contains the address, at most `end`. */
static uintptr_t piece_end(uintptr_t address, uintptr_t size, uintptr_t end)
{
    uintptr_t next = address / size * size + size;
    return next < end ? next : end;
}

void sim_mark_written(const void *address, size_t size)
{
    uintptr_t at = (uintptr_t)address, end = at + size;
    _Atomic uint64_t *all = atomic_load(&words);
    if (!all && !(all = make_words()))
        return;
    for (; at < end; at = piece_end(at, CHUNK, end))
        if (!(atomic_load_explicit(word_of(all, at), memory_order_relaxed) & bit_of(at)))
            atomic_fetch_or(word_of(all, at), bit_of(at));
}

bool sim_is_written(const void *address, size_t size)
{
    const uintptr_t a_word = (uintptr_t)CHUNK * CHUNKS_A_WORD;
    uintptr_t at = (uintptr_t)address, end = at + size;
    _Atomic uint64_t *all = atomic_load_explicit(&words, memory_order_relaxed);
    uint64_t marked;
    for (; all && at < end; at = piece_end(at, marked ? (uintptr_t)CHUNK : a_word, end)) {
        marked = atomic_load_explicit(word_of(all, at), memory_order_relaxed);
        if (marked & bit_of(at))
            return true;
    }
    return false;
}

static void clear_chunk(_Atomic uint64_t *word, uintptr_t at, uintptr_t end, bool is_small)
{
    /* A chunk that is only partly ours stays marked. */
    if (end - at == CHUNK)
        atomic_fetch_and(word, ~bit_of(at));
    if (is_small)
        sim_clear_in_place((void *)at, end - at);
    else
        sim_clear((void *)at, end - at);
}

void sim_clear_written(void *address, size_t size)
{
    const uintptr_t a_word = (uintptr_t)CHUNK * CHUNKS_A_WORD;
    uintptr_t at = (uintptr_t)address, end = at + size, next;
    _Atomic uint64_t *all = atomic_load_explicit(&words, memory_order_relaxed);
    if (!all)
        return;
    for (; at < end; at = next) {
        _Atomic uint64_t *word = word_of(all, at);
        uint64_t marked = atomic_load_explicit(word, memory_order_relaxed);
        next = piece_end(at, marked ? (uintptr_t)CHUNK : a_word, end);
        if (marked & bit_of(at))
            clear_chunk(word, at, next, size <= SMALL);
    }
}
