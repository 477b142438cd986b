/* SPDX-License-Identifier: Apache-2.0 */
#include "before.h"
#include "blocks.h"
#include "preload/host/no-signals.h"
#include "preload/host/safe-read.h"
#include "preload/record/intern.h"

/* A ska::flat_hash_set of pointers: its entries, slots less one, a word of small numbers (a shift,
 * how far an entry may be from its slot, the load factor of 0.5), and the number of entries. An
 * entry is a distance, negative if it is empty, and a pointer. */
enum { WINDOW = 256, SET_WORDS = 4, MOST_SLOTS = 1 << 20, HALF = 0x3f000000 };
enum { ENTRIES_AT_ONCE = 64, BLOCKS_AT_ONCE = 10, BLOCK_WORDS = 6 };

struct walk {
    struct mt_thread *self; /* NULL: only add up */
    int device;
    uint32_t stack;
    uint64_t own, own_unused; /* the address of the alloc's own block; how much of it is unused */
    uint64_t allocated, reserved; /* PyTorch's totals */
    uint64_t n, bytes;
};

static void record(struct walk *walk, uint64_t stream, const uint64_t *size)
{
    uint64_t unused = size[0] - size[MT_BLOCK_REQUESTED];
    if (size[MT_BLOCK_ADDRESS] == walk->own) {
        walk->own_unused = unused;
        return;
    }
    walk->bytes += size[0];
    if (!walk->self)
        return;
    mt_request_origin(walk->self, walk->device, stream, size[MT_BLOCK_POOL]);
    mt_record(walk->self, MT_REQUEST, walk->device, 0, MT_ARGS(unused));
    mt_record(walk->self, MT_ALLOC, walk->device, walk->stack,
              MT_ARGS(size[MT_BLOCK_ADDRESS], size[0], walk->allocated, walk->reserved));
}

/* Read n blocks: each one's stream, and its words from its size to its flags. Return whether they
 * are blocks. */
static bool read_blocks(struct walk *walk, const uint64_t *block, unsigned n)
{
    uint64_t from[BLOCKS_AT_ONCE * BLOCK_WORDS], word[BLOCKS_AT_ONCE * BLOCK_WORDS];
    unsigned size = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        from[BLOCK_WORDS * i] = block[i] + 8 * MT_BLOCK_STREAM;
        for (unsigned k = 1; k < BLOCK_WORDS; k++)
            from[BLOCK_WORDS * i + k] = block[i] + (uint64_t)8 * (size + k - 1);
    }
    if (mt_safe_read_words(from, word, BLOCK_WORDS * n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t *at = word + (size_t)BLOCK_WORDS * i + 1;
        if (at[MT_BLOCK_REQUESTED] > at[0] || !at[MT_BLOCK_ADDRESS] || at[0] % 512)
            return false;
        walk->n++;
        if ((uint16_t)at[MT_BLOCK_FLAGS] == MT_BLOCK_IN_USE) /* others wait to be freed */
            record(walk, at[-1], at);
    }
    return true;
}

/* Read all blocks of a set. Return whether they are all. */
static bool read_set(struct walk *walk, const uint64_t *set)
{
    uint64_t entry[ENTRIES_AT_ONCE][2], block[BLOCKS_AT_ONCE];
    uint64_t n = set[1] + (set[2] >> 8 & 0x7f);
    unsigned found = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t left = n - i, in = i % ENTRIES_AT_ONCE;
        if (!in &&
            mt_safe_read((const void *)(uintptr_t)(set[0] + sizeof entry[0] * i), entry,
                         sizeof entry[0] * (left < ENTRIES_AT_ONCE ? left : ENTRIES_AT_ONCE)))
            return false;
        if ((int8_t)entry[in][0] >= 0)
            block[found++] = entry[in][1];
        if (found && (found == BLOCKS_AT_ONCE || left == 1)) {
            if (!read_blocks(walk, block, found))
                return false;
            found = 0;
        }
    }
    return walk->n == set[3];
}

static bool is_set(const uint64_t *set)
{
    return set[0] && set[0] % 8 == 0 && set[1] && set[1] < MOST_SLOTS && !(set[1] & (set[1] + 1)) &&
           set[2] >> 32 == HALF && set[3] && set[3] <= set[1];
}

static uint32_t stack(void)
{
    uint32_t id = 0;
    MT_UNINTERRUPTED();
    if (!mt_intern_lock())
        return 0;
    uint32_t frame = mt_intern_frame(
        mt_intern_string(MT_BEFORE_RECORDING, sizeof MT_BEFORE_RECORDING - 1), 0, 0);
    if (frame)
        id = mt_intern_stack(0, frame);
    mt_intern_unlock();
    return id;
}

void mt_before_record(struct mt_thread *self, int device, uint64_t address, uint64_t allocated,
                      uint64_t reserved, uint64_t pool)
{
    uint64_t words[WINDOW];
    if (mt_safe_read((const void *)(uintptr_t)pool, words, sizeof words))
        return;
    for (unsigned i = 0; i + SET_WORDS <= WINDOW; i++) {
        struct walk walk = {.device = device, .own = address};
        if (!is_set(words + i) || !read_set(&walk, words + i) || walk.bytes != allocated)
            continue;
        if (!walk.bytes)
            return;
        uint64_t unused = walk.own_unused;
        struct mt_thread_request own = self->request;
        walk = (struct walk){.self = self, .device = device, .own = address};
        walk.allocated = allocated;
        walk.reserved = reserved;
        walk.stack = stack();
        if (!walk.stack) /* or they would be allocated now */
            return;
        read_set(&walk, words + i);
        mt_request_origin(self, device, own.stream, own.shared);
        mt_record(self, MT_REQUEST, device, 0, MT_ARGS(unused));
        return;
    }
}
