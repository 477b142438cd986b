/* SPDX-License-Identifier: Apache-2.0 */
#include "chunks.h"
#include "preload/host/memory.h"

/* glibc 2.26 to 2.42, 64 bits. */
enum {
    IN_USE = 1, /* the chunk before this one */
    MAPPED = 2,
    FLAGS = 7,
    HEAD = 16,
    LEAST = 32,
    STATE_BYTES = 0x898, /* struct malloc_state, */
    STATE_BINS = 0x70,   /* its lists of free chunks, */
    BINS = 127,
    CACHE_BINS = 64,      /* struct tcache_perthread_struct: counts, */
    CACHE_ENTRIES = 0x80, /* and lists */
    CACHE_CHUNK = 0x290,
};
#define ARENA (UINT64_C(1) << 26) /* alignment of further arenas' heaps */
#define MOST_FREED (1u << 16)     /* power of two */
#define MOST_COUNT 128u           /* of a list */

static uint64_t *freed; /* hash table: what malloc returned */

uint64_t mt_chunks_of_arena(uint64_t begin, uint64_t end)
{
    enum { STATE, PREVIOUS, SIZE };
    if (begin % ARENA || end - begin < 4096)
        return 0;
    uint64_t state = mt_scan_word(begin + 8ull * STATE);
    uint64_t previous = mt_scan_word(begin + 8ull * PREVIOUS);
    uint64_t size = mt_scan_word(begin + 8ull * SIZE), info = state % ARENA;
    if (info < 32 || info > 64 || size % 4096 || size > ARENA || previous % ARENA ||
        (!previous && state != begin + info))
        return 0;
    uint64_t first = previous ? begin + info : state + STATE_BYTES;
    return (first + 15) & ~UINT64_C(15);
}

uint64_t mt_chunk_mapped(uint64_t at, uint64_t end)
{
    if (end - at < 4096 || mt_scan_word(at))
        return 0;
    uint64_t head = mt_scan_word(at + 8), bytes = head & ~(uint64_t)FLAGS;
    return (head & FLAGS) == MAPPED && bytes && bytes % 4096 == 0 && bytes <= end - at ? bytes : 0;
}

static uint64_t *place_of(uint64_t chunk)
{
    uint32_t i = (uint32_t)((chunk >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    while (freed[i & (MOST_FREED - 1)] && freed[i & (MOST_FREED - 1)] != chunk)
        i++;
    return &freed[i & (MOST_FREED - 1)];
}

uint64_t mt_chunk_end(uint64_t begin)
{
    uint64_t head = mt_scan_word(begin - 8);
    return begin - HEAD + (head & ~(uint64_t)FLAGS) + (head & MAPPED ? 0 : 8);
}

bool mt_chunk_next(const struct mt_region *region, uint64_t *at, struct mt_malloc_chunk *chunk)
{
    uint64_t head, bytes, begin = *at;
    if (begin + LEAST > region->end)
        return false;
    head = mt_scan_word(begin + 8);
    bytes = head & ~(uint64_t)FLAGS;
    if (bytes % 16 || bytes < HEAD || bytes > region->end - begin) {
        *chunk = (struct mt_malloc_chunk){begin, region->end, true, true};
        *at = region->end;
        return true;
    }
    *at = begin + bytes;
    *chunk = (struct mt_malloc_chunk){begin + HEAD, mt_chunk_end(begin + HEAD), true, false};
    if (!(head & MAPPED)) { /* the last one of a heap is free */
        uint64_t next = begin + bytes + HEAD <= region->end ? mt_scan_word(begin + bytes + 8) : 0;
        chunk->is_used = bytes >= LEAST && next & IN_USE && !*place_of(chunk->begin);
    }
    return true;
}

static const struct mt_region *heap_with(const struct mt_regions *regions, uint64_t address)
{
    for (uint32_t i = 0; i < regions->n; i++)
        if (regions->region[i].sort == MT_REGION_CHUNKS &&
            address >= regions->region[i].begin + HEAD && address < regions->region[i].end)
            return &regions->region[i];
    return NULL;
}

static unsigned count_in(uint64_t cache, unsigned bin)
{
    uint16_t count;
    memcpy(&count, (const void *)(uintptr_t)(cache + 2ull * bin), sizeof count);
    return count;
}

/* Return whether a word is the address of a thread's lists of freed chunks. */
static bool is_cache(const struct mt_regions *regions, uint64_t at)
{
    const struct mt_region *heap = at % 16 ? NULL : heap_with(regions, at);
    if (!heap || at + CACHE_CHUNK > heap->end ||
        (mt_scan_word(at - 8) & ~(uint64_t)FLAGS) != CACHE_CHUNK)
        return false;
    for (unsigned bin = 0; bin < CACHE_BINS; bin++) {
        uint64_t first = mt_scan_word(at + CACHE_ENTRIES + 8ull * bin);
        unsigned count = count_in(at, bin);
        if (!first != !count || count > MOST_COUNT || first % 16 ||
            (first && !heap_with(regions, first)))
            return false;
    }
    return true;
}

/* Add a list. From 2.32 on, each address in it is changed by that of its place. */
static void add_list(const struct mt_regions *regions, uint64_t first, unsigned count)
{
    static uint32_t n; /* only the child has this memory */
    for (uint64_t at = first; at && count-- && n < MOST_FREED / 2; n++) {
        *place_of(at) = at;
        uint64_t next = mt_scan_word(at), plain = next ^ at >> 12;
        at = plain % 16 == 0 && heap_with(regions, plain) ? plain
             : next % 16 == 0 && heap_with(regions, next) ? next
                                                          : 0;
    }
}

bool mt_chunks_find_freed(const struct mt_regions *regions)
{
    freed = mt_map(MOST_FREED * sizeof *freed);
    if (!freed)
        return false;
    for (uint32_t i = 0; i < regions->n; i++) {
        const struct mt_region *region = &regions->region[i];
        if (region->sort != MT_REGION_THREAD)
            continue;
        for (uint64_t at = region->begin; at + 8 <= region->end; at += 8) {
            uint64_t cache = mt_scan_word(at);
            if (!is_cache(regions, cache) || *place_of(cache))
                continue;
            *place_of(cache) = cache;
            for (unsigned bin = 0; bin < CACHE_BINS; bin++)
                add_list(regions, mt_scan_word(cache + CACHE_ENTRIES + 8ull * bin),
                         count_in(cache, bin));
        }
    }
    return true;
}

struct mt_memory_range mt_chunks_arena_in(const struct mt_region *region)
{
    unsigned run = 0;
    const char *file = mt_file_name(region->image->path);
    if (strncmp(file, "libc.so", 7) && strncmp(file, "libc-2", 6))
        return (struct mt_memory_range){0, 0};
    for (uint64_t at = (region->begin + STATE_BYTES + 15) & ~UINT64_C(15); at + HEAD <= region->end;
         at += HEAD) {
        bool is_empty = mt_scan_word(at) == at - HEAD && mt_scan_word(at + 8) == at - HEAD;
        run = is_empty ? run + 1 : 0;
        if (run == BINS / 4) /* the state begins before its first list */
            return (struct mt_memory_range){at - STATE_BYTES, at + STATE_BYTES};
    }
    return (struct mt_memory_range){0, 0};
}
