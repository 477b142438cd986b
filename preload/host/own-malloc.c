/* SPDX-License-Identifier: Apache-2.0 */
#include "own-malloc.h"
#include "memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

/*
 * Blocks of up to SMALL_MOST bytes are cut from slabs, and return to a list of their size. There
 * are four sizes between a power of two and the next. Larger ones are mappings.
 */
#define UNIT 16u
#define SMALL_MOST ((size_t)32 << 10)
#define SLAB ((size_t)256 << 10)
#define SIZES 40u
#define PAGE ((size_t)4096)

/* The header in front of each block. */
struct head {
    size_t room;       /* bytes of the block */
    struct head *next; /* of the same size, while it is free */
};
_Static_assert(sizeof(struct head) == UNIT, "blocks are aligned for every type");

static struct {
    pthread_mutex_t lock;
    struct head *free[SIZES];
    char *slab;
    size_t left; /* bytes of the slab */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Return the index of the smallest sufficient size class, and its size in *room. */
static unsigned size_class(size_t size, size_t *room)
{
    if (size <= 4 * UNIT) {
        unsigned units = size ? (unsigned)((size + UNIT - 1) / UNIT) : 1;
        *room = units * UNIT;
        return units - 1;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^power < size <= 2^(power+1) */
    unsigned quarter = (unsigned)((size - 1) >> (power - 2));  /* 4 to 7 */
    *room = (size_t)(quarter + 1) << (power - 2);
    return 4 + (power - 6) * 4 + quarter - 4;
}

static struct head *cut_from_slab(size_t room)
{
    size_t size = sizeof(struct head) + room;
    if (own.left < size) {
        char *slab = mt_map(SLAB);
        if (!slab)
            return NULL;
        own.slab = slab;
        own.left = SLAB;
    }
    struct head *head = (struct head *)own.slab;
    own.slab += size;
    own.left -= size;
    return head;
}

static struct head *take_small(size_t size)
{
    size_t room;
    unsigned class = size_class(size, &room);
    pthread_mutex_lock(&own.lock);
    struct head *head = own.free[class];
    if (head)
        own.free[class] = head->next;
    else
        head = cut_from_slab(room);
    pthread_mutex_unlock(&own.lock);
    if (head)
        head->room = room;
    return head;
}

/* Return the mapping's size, or 0 if it overflows. */
static size_t mapping_size(size_t size)
{
    return size > SIZE_MAX / 2 ? 0 : (sizeof(struct head) + size + PAGE - 1) & ~(PAGE - 1);
}

static struct head *take_large(size_t size)
{
    size_t mapped = mapping_size(size);
    struct head *head = mapped ? mt_map(mapped) : NULL;
    if (head)
        head->room = mapped - sizeof *head;
    return head;
}

void *mt_own_malloc(size_t size)
{
    struct head *head = size <= SMALL_MOST ? take_small(size) : take_large(size);
    return head ? head + 1 : NULL;
}

void *mt_own_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return NULL;
    void *memory = mt_own_malloc(bytes);
    if (memory && bytes <= SMALL_MOST) /* a mapping is zeroed */
        memset(memory, 0, bytes);
    return memory;
}

void mt_own_free(void *memory)
{
    if (!memory)
        return;
    struct head *head = (struct head *)memory - 1;
    size_t room = head->room;
    if (room > SMALL_MOST) {
        mt_unmap(head, sizeof *head + room);
        return;
    }
    unsigned class = size_class(room, &room);
    pthread_mutex_lock(&own.lock);
    head->next = own.free[class];
    own.free[class] = head;
    pthread_mutex_unlock(&own.lock);
}

static void *move(struct head *head, size_t size)
{
    void *memory = mt_own_malloc(size);
    if (!memory)
        return NULL;
    memcpy(memory, head + 1, size < head->room ? size : head->room);
    mt_own_free(head + 1);
    return memory;
}

/* Resize a mapping from `old`; MAP_FAILED if there is no memory. */
static void *remap(void *memory, size_t old, size_t size)
{
    int saved = errno;
#ifdef __SANITIZE_THREAD__
    /* TSan does not know that mremap gives a thread only pages that another has freed. */
    __tsan_release(&own.slab);
#endif
    void *moved = mremap(memory, old, size, MREMAP_MAYMOVE);
#ifdef __SANITIZE_THREAD__
    __tsan_acquire(&own.slab);
#endif
    errno = saved;
    return moved;
}

void *mt_own_realloc(void *memory, size_t size)
{
    if (!memory)
        return mt_own_malloc(size);
    struct head *head = (struct head *)memory - 1;
    if (size <= head->room)
        return memory;
    size_t mapped = mapping_size(size);
    if (head->room <= SMALL_MOST || !mapped)
        return move(head, size);
    head = remap(head, sizeof *head + head->room, mapped);
    if (head == MAP_FAILED)
        return NULL;
    head->room = mapped - sizeof *head;
    return head + 1;
}

void mt_own_malloc_reset(void)
{
    memset(&own, 0, sizeof own);
    pthread_mutex_init(&own.lock, NULL);
}
