/* SPDX-License-Identifier: Apache-2.0 */
#include "before.h"
#include "blocks.h"
#include "preload/host/no-signals.h"
#include "preload/host/safe-read.h"
#include "preload/record/intern.h"
#include "trace-format/cuda-apis.h"

/* A ska::flat_hash_set of pointers: its entries, slots less one, a word of small numbers (a shift,
 * how far an entry may be from its slot, the load factor of 0.5), and the number of entries. An
 * entry is a distance, negative if it is empty, and a pointer. */
enum { WINDOW = 256, SET_WORDS = 4, MOST_SLOTS = 1 << 20, HALF = 0x3f000000 };
enum { ENTRIES_AT_ONCE = 64, BLOCKS_AT_ONCE = 8, BLOCK_WORDS = 8 };

/* A pool of blocks: a std::set of the free ones, one or two of others, a byte that says whether it
 * is the small one of two adjacent pools, and two or three words. A set is its order, the root of
 * its tree among three more words, and the number of nodes; a node is a color, three pointers and
 * the block's record. */
enum { TREE_ROOT = 2, TREE_N = 5, NODE_LEFT = 2, NODE_RIGHT, NODE_BLOCK, NODE_WORDS };
enum { IS_SMALL = 12, IS_SMALL_BEHIND_THREE = 18, TAIL_MOST = 3, MOST_DEPTH = 64 };
enum { MOST_POOLS = 64, MOST_BLOCKS = 1 << 20 };

struct walk {
    struct mt_thread *self;
    int device;
    uint32_t stack;
    unsigned word;                /* of a record, at which its size is */
    uint64_t own, own_unused;     /* the address of the event's own block; how much is unused */
    uint64_t own_at;              /* its record */
    uint64_t allocated, reserved; /* PyTorch's totals before the event */
    uint64_t n, bytes, all;       /* blocks; bytes of those in use, and of all */
    uint64_t pool[MOST_POOLS];
    unsigned n_pools, pool_words;
    void (*visit)(struct walk *walk, uint64_t at, const uint64_t *block);
};

/* The words of `block` in a visit. */
enum { STREAM, SIZE, REQUESTED, POOL, ADDRESS, FLAGS, PREVIOUS, NEXT };

static bool is_in_use(const uint64_t *block) /* others wait to be freed */
{
    return (uint16_t)block[FLAGS] == MT_BLOCK_IN_USE;
}

/* Read n blocks and visit them. Return whether they are blocks. */
static bool read_blocks(struct walk *walk, const uint64_t *at, unsigned n)
{
    uint64_t from[BLOCKS_AT_ONCE * BLOCK_WORDS], word[BLOCKS_AT_ONCE * BLOCK_WORDS];
    for (unsigned i = 0; i < n; i++) {
        from[BLOCK_WORDS * i] = at[i] + 8 * MT_BLOCK_STREAM;
        for (unsigned k = 1; k < BLOCK_WORDS; k++)
            from[BLOCK_WORDS * i + k] = at[i] + (uint64_t)8 * (walk->word + k - 1);
    }
    if (mt_safe_read_words(from, word, BLOCK_WORDS * n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t *block = word + (size_t)BLOCK_WORDS * i;
        if (!block[ADDRESS] || block[SIZE] % 512 ||
            (is_in_use(block) && block[REQUESTED] > block[SIZE]))
            return false;
        walk->n++;
        walk->visit(walk, at[i], block);
    }
    return true;
}

/* Visit all blocks of a set. Return whether they are all. */
static bool read_set(struct walk *walk, const uint64_t *set)
{
    uint64_t entry[ENTRIES_AT_ONCE][2], block[BLOCKS_AT_ONCE];
    uint64_t n = set[1] + (set[2] >> 8 & 0x7f);
    unsigned found = 0;
    walk->n = 0;
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

/* Visit the free blocks of a pool. Return whether they are all. */
static bool read_free(struct walk *walk, uint64_t pool)
{
    uint64_t node[MOST_DEPTH], tree[TREE_N + 1], block[BLOCKS_AT_ONCE], words[NODE_WORDS];
    unsigned n = 0, found = 0;
    walk->n = 0;
    if (mt_safe_read((const void *)(uintptr_t)pool, tree, sizeof tree) ||
        tree[TREE_N] > MOST_BLOCKS)
        return false;
    if (tree[TREE_ROOT])
        node[n++] = tree[TREE_ROOT];
    while (n) {
        if (mt_safe_read((const void *)(uintptr_t)node[--n], words, sizeof words) ||
            n + 2 > MOST_DEPTH || walk->n + found >= tree[TREE_N])
            return false;
        for (unsigned side = NODE_LEFT; side <= NODE_RIGHT; side++)
            if (words[side])
                node[n++] = words[side];
        block[found++] = words[NODE_BLOCK];
        if (found == BLOCKS_AT_ONCE || !n) {
            if (!read_blocks(walk, block, found))
                return false;
            found = 0;
        }
    }
    return walk->n == tree[TREE_N];
}

static void add_pool(struct walk *walk, uint64_t pool)
{
    for (unsigned i = 0; i < walk->n_pools; i++)
        if (walk->pool[i] == pool)
            return;
    if (walk->n_pools < MOST_POOLS)
        walk->pool[walk->n_pools++] = pool;
}

static void add_up(struct walk *walk, uint64_t at, const uint64_t *block)
{
    walk->all += block[SIZE];
    if (block[ADDRESS] == walk->own)
        walk->own_at = at;
    else if (is_in_use(block))
        walk->bytes += block[SIZE];
    add_pool(walk, block[POOL]);
}

static void record_block(struct walk *walk, uint64_t address, uint64_t size, uint64_t unused)
{
    mt_record(walk->self, MT_REQUEST, walk->device, 0, MT_ARGS(unused));
    mt_record(walk->self, MT_ALLOC, walk->device, walk->stack,
              MT_ARGS(address, size, walk->allocated, walk->reserved));
}

static void record(struct walk *walk, uint64_t at, const uint64_t *block)
{
    uint64_t unused = block[SIZE] - block[REQUESTED];
    (void)at;
    if (!is_in_use(block))
        return;
    if (block[ADDRESS] == walk->own) {
        walk->own_unused = unused;
        return;
    }
    mt_request_origin(walk->self, walk->device, block[STREAM], block[POOL]);
    record_block(walk, block[ADDRESS], block[SIZE], unused);
}

/* Return the size of a segment that begins with a block; 0: it is an expandable one. */
static uint64_t segment_size(const struct walk *walk, uint64_t at, uint64_t address)
{
    uint64_t words[MT_BLOCK_NEXT + 1], size = 0;
    for (unsigned n = 0; at && n < MOST_BLOCKS; n++) {
        if (mt_safe_read((const void *)(uintptr_t)(at + (uint64_t)8 * walk->word), words,
                         sizeof words) ||
            words[MT_BLOCK_ADDRESS] != address + size ||
            !((uint16_t)words[MT_BLOCK_FLAGS] & MT_BLOCK_FREE)) /* not mapped */
            return 0;
        size += words[0];
        at = words[MT_BLOCK_NEXT];
    }
    return size;
}

static void record_segment(struct walk *walk, uint64_t at, const uint64_t *block)
{
    uint64_t size = block[PREVIOUS] ? 0 : segment_size(walk, at, block[ADDRESS]);
    if (!size)
        return;
    mt_request_origin(walk->self, walk->device, block[STREAM], block[POOL]);
    mt_record(walk->self, MT_CUDA_MALLOC, walk->device, walk->stack,
              MT_ARGS(block[ADDRESS], size, 0, MT_API_CUDA_MALLOC));
}

/* Return the pool next to this one: the large one precedes the small one. 0: it is not known. */
static uint64_t neighbour(const struct walk *walk, uint64_t pool)
{
    unsigned at = walk->pool_words > IS_SMALL_BEHIND_THREE ? IS_SMALL_BEHIND_THREE : IS_SMALL;
    uint64_t kind = 0, size = (uint64_t)8 * walk->pool_words;
    if (mt_safe_read((const void *)(uintptr_t)(pool + (uint64_t)8 * at), &kind, 1) || kind > 1)
        return 0;
    return kind ? pool - size : pool + size;
}

/* Learn how large a pool is from where the set of active blocks follows it and perhaps another. */
static unsigned pool_words(const uint64_t *pool, unsigned set)
{
    static const unsigned places[] = {IS_SMALL, IS_SMALL_BEHIND_THREE};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        unsigned kind = pool[places[i]] & 0xff, words = kind ? set : set / 2;
        if (kind <= 1 && words * (2 - kind) == set && words > places[i] + 1 &&
            words <= places[i] + TAIL_MOST)
            return words;
    }
    return 0;
}

/* Visit the blocks of all pools that are free, and those of the set. Return whether they are all
 * that is reserved. */
static bool read_all(struct walk *walk, const uint64_t *set)
{
    for (unsigned i = 0; i < walk->n_pools; i++)
        if (!read_free(walk, walk->pool[i]))
            return false;
    return read_set(walk, set);
}

/* Record all segments if they are what is reserved. */
static void record_segments(struct walk *walk, const uint64_t *set)
{
    for (unsigned i = 0, n = walk->n_pools; i < n; i++) {
        uint64_t next = neighbour(walk, walk->pool[i]);
        if (!next)
            return;
        add_pool(walk, next);
    }
    walk->all = 0;
    walk->visit = add_up;
    if (!read_all(walk, set) || walk->all != walk->reserved)
        return;
    walk->visit = record_segment;
    read_all(walk, set);
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

/* Find the set of active blocks behind a pool, whose blocks in use, but for the event's own, add up
 * to `bytes`. Return its place in `words`; WINDOW: there is none. */
static unsigned find_set(struct walk *walk, uint64_t pool, uint64_t bytes, uint64_t words[WINDOW])
{
    if (mt_safe_read((const void *)(uintptr_t)pool, words, WINDOW * sizeof *words))
        return WINDOW;
    for (unsigned i = 0; i + SET_WORDS <= WINDOW; i++) {
        walk->bytes = walk->n_pools = 0;
        walk->visit = add_up;
        if (!is_set(words + i) || !read_set(walk, words + i) || walk->bytes != bytes)
            continue;
        walk->pool_words = pool_words(words, i);
        add_pool(walk, pool);
        return i;
    }
    return WINDOW;
}

/* Record what the set has. Return whether that was possible. */
static bool record_set(struct walk *walk, const uint64_t *set)
{
    walk->stack = stack();
    if (!walk->stack) /* or they would be allocated now */
        return false;
    if (walk->pool_words)
        record_segments(walk, set);
    walk->visit = record;
    read_set(walk, set);
    return true;
}

void mt_before_record(struct mt_thread *self, int device, uint64_t address, uint64_t allocated,
                      uint64_t reserved, uint64_t pool)
{
    uint64_t words[WINDOW];
    struct walk walk = {.self = self,
                        .device = device,
                        .word = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed),
                        .own = address,
                        .allocated = allocated,
                        .reserved = reserved};
    struct mt_thread_request own = self->request;
    unsigned place = find_set(&walk, pool, allocated, words);
    uint64_t segment = place < WINDOW ? segment_size(&walk, walk.own_at, address) : 0;
    if (!allocated && (!segment || segment == reserved)) /* there was nothing */
        return;
    if (place == WINDOW || !record_set(&walk, words + place))
        return;
    mt_request_origin(self, device, own.stream, own.shared);
    mt_record(self, MT_REQUEST, device, 0, MT_ARGS(walk.own_unused));
}

bool mt_before_record_at_free(struct mt_thread *self, int device,
                              const uint64_t free[static MT_EVENT_ARGS], struct mt_caller caller)
{
    uint64_t words[WINDOW], record[MT_BLOCK_WORDS];
    struct walk walk = {
        .self = self, .device = device, .allocated = free[2] + free[1], .reserved = free[3]};
    for (unsigned word = 0;
         (walk.word = mt_block_guess_freed(caller, free[0], free[1], word, record));
         word = walk.word) {
        const uint64_t *size = record + walk.word;
        unsigned place = find_set(&walk, size[MT_BLOCK_POOL], free[2], words);
        if (place == WINDOW || !record_set(&walk, words + place))
            continue;
        mt_request_origin(self, device, record[MT_BLOCK_STREAM], size[MT_BLOCK_POOL]);
        record_block(&walk, free[0], free[1], free[1] - size[MT_BLOCK_REQUESTED]);
        return true;
    }
    return false;
}
