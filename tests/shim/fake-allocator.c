/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake-allocator PADDING ROUNDS: an allocator that reports as PyTorch's does, with records of
 * blocks whose set of streams has so many words more. Prints what was asked: "alloc ADDRESS
 * REQUESTED STREAM PRIVATE", "free ADDRESS WAITS", "done ADDRESS". PADDING none: its records have
 * another layout. A third argument: nothing is printed, and all is alike (to count instructions).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void report(void *block, int64_t size, size_t allocated, size_t reserved,
            uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

enum { DEVICE_CUDA = 1, USES = 5, FIRST_SIZE = 5 };
enum { SIZE, REQUESTED, POOL, ADDRESS, FLAGS, PREVIOUS, NEXT, EVENTS, WORDS = 32 };
enum { BLOCKS = 100 };

/* As in PyTorch: a pool that all share, and a private one, which points back to its owner. What the
 * byte with a pool's kind leaves of its word is not set, and may look like a pointer to the owner.
 */
static uint64_t shared_pool[32], private_pool[64];
static size_t allocated;
static unsigned size_word;
static bool is_other;

static uint64_t *new_record(uint64_t address, uint64_t requested, uint64_t stream, bool is_private)
{
    uint64_t *record = calloc(WORDS, sizeof *record), *size = record + size_word;
    if (!record)
        abort();
    record[1] = stream;
    size[SIZE] = (requested + 511) / 512 * 512;
    size[REQUESTED] = requested;
    size[POOL] = (uint64_t)(uintptr_t)(is_private ? private_pool + 4 : shared_pool);
    size[ADDRESS] = address;
    size[FLAGS] = 0x101;
    if (is_other) { /* an allocator that keeps the address first */
        size[SIZE] = address;
        size[ADDRESS] = size[REQUESTED];
    }
    return record;
}

static uint64_t address_of(const uint64_t *size)
{
    return size[is_other ? SIZE : ADDRESS];
}

static uint64_t bytes_of(const uint64_t *size)
{
    return (size[is_other ? ADDRESS : SIZE] + 511) / 512 * 512;
}

__attribute__((noinline)) static uint64_t *hand_out(uint64_t *made)
{
    uint64_t *volatile record = made; /* on the stack, as a variable that is used after the call */
    uint64_t *size = made + size_word;
    allocated += bytes_of(size);
    report((void *)(uintptr_t)address_of(size), (int64_t)bytes_of(size), allocated, 1 << 30,
           DEVICE_CUDA);
    return record;
}

__attribute__((noinline)) static void take_back(uint64_t *old)
{
    uint64_t *volatile record = old;
    uint64_t *size = old + size_word;
    size[FLAGS] = 0x100;
    if (record[USES]) {
        record[USES] = 0;
        size[EVENTS] = 1;
    }
    allocated -= bytes_of(size);
    report((void *)(uintptr_t)address_of(size), -(int64_t)bytes_of(size), allocated, 1 << 30,
           DEVICE_CUDA);
    __asm__ volatile(""); /* the frame stays during the call */
}

static unsigned random_number(unsigned below)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static bool is_quiet;
#define SAY(...) (is_quiet ? 0 : printf(__VA_ARGS__))

/* The first of those that wait waits no more. */
static void end_wait(uint64_t **waiting, unsigned *n)
{
    uint64_t *size = waiting[0] + size_word;
    SAY("done %lu\n", (unsigned long)address_of(size));
    size[EVENTS] = 0;
    free(waiting[0]);
    memmove(waiting, waiting + 1, --*n * sizeof *waiting);
}

static void free_one(uint64_t **slot, uint64_t **waiting, unsigned *n)
{
    bool waits = !is_quiet && *n < BLOCKS && random_number(10) == 0;
    (*slot)[USES] = waits;
    SAY("free %lu %d\n", (unsigned long)address_of(*slot + size_word), waits);
    take_back(*slot);
    if (waits)
        waiting[(*n)++] = *slot;
    else
        free(*slot);
    *slot = NULL;
}

static void allocate_one(uint64_t **slot, unsigned i)
{
    bool is_private = !is_quiet && random_number(50) == 0;
    uint64_t stream = !is_quiet && random_number(20) == 0 ? 0x5500 : 0;
    uint64_t requested = is_quiet ? 512 * (1 + random_number(9)) : 1 + random_number(9999);
    *slot = hand_out(new_record((uint64_t)(i + 1) << 24, requested, stream, is_private));
    SAY("alloc %lu %lu %lu %d\n", (unsigned long)(i + 1) << 24, (unsigned long)requested,
        (unsigned long)stream, is_private);
}

int main(int argc, char **argv)
{
    static uint64_t *live[BLOCKS], *waiting[BLOCKS];
    unsigned n = 0, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    is_quiet = argc > 3;
    is_other = argc > 1 && !strcmp(argv[1], "none");
    size_word = FIRST_SIZE + 1 + (argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    shared_pool[12] = ((uint64_t)(uintptr_t)shared_pool - 256) | 1;
    private_pool[4 + 12 + 1] = (uint64_t)(uintptr_t)private_pool;
    for (unsigned i = 0; i < rounds; i++) {
        unsigned at = random_number(BLOCKS);
        if (live[at])
            free_one(&live[at], waiting, &n);
        else if (n && random_number(4) == 0)
            end_wait(waiting, &n);
        else
            allocate_one(&live[at], at);
    }
    return 0;
}
