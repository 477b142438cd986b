/* SPDX-License-Identifier: Apache-2.0 */
#include "totals.h"
#include "before.h"
#include "preload/hooks/pools.h"
#include "preload/host/safe-read.h"
#include "trace-format/likely.h"

#include <string.h>

MT_HOT struct mt_allocator_words mt_allocator_words[MT_TOTALS_DEVICES];

enum { EMPTIED, RETRIES, LIMIT, HAS_LIMIT }; /* the words */

/* The record of a device's allocator, in words from its pools of blocks, which are both in it: the
 * statistics precede them, and what follows them begins with the total that a limit applies to. */
enum { BEFORE = 128, WINDOW = 384 };

/* Statistics of bytes are groups of 12 words, each beginning with the current value and its peak:
 * allocated, reserved; then, in some releases after four others, active, inactive and requested.
 * After these: retries, out of memory, two groups of 4, releases of the cache, calls of cudaMalloc
 * and of cudaFree. */
enum {
    RESERVED_AT = 12,
    ACTIVE_AT = 24,
    ACTIVE_LATER = 28,
    REQUESTED_FROM_ACTIVE = 24,
    RETRIES_FROM_ACTIVE = 36,
    EMPTIED_FROM_ACTIVE = 46
};

/* The limit follows its total, or the properties of the device, which follow that: they begin with
 * its name, and have these sizes in CUDA 13 and 12. */
enum { PROPERTIES_13 = 126, PROPERTIES_12 = 129 };

#define MOST_BYTES (UINT64_C(1) << 44)
#define MOST_COUNT (UINT64_C(1) << 32)
#define AGREE 4u
#define LOOKS 16384u /* events */

static const uint64_t nothing;

static struct learning {
    uint64_t statistics, total;   /* addresses found last; 0: none */
    uint64_t allocated, reserved; /* then */
    uint16_t active;
    bool knows_before;           /* what was allocated before is recorded, or could not be */
    unsigned agree, agree_total; /* so often */
    unsigned looks;
} learning[MT_TOTALS_DEVICES];

static bool is_group(const uint64_t *group, uint64_t now)
{
    return group[0] == now && group[1] >= now && group[1] < MOST_BYTES;
}

/* Return how far active's group is from allocated's; 0 if there is none. What is active is
 * allocated, or waits. */
static unsigned active_of(const uint64_t *at, uint64_t allocated, uint64_t reserved)
{
    static const unsigned places[] = {ACTIVE_AT, ACTIVE_LATER};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        const uint64_t *active = at + places[i], *requested = active + REQUESTED_FROM_ACTIVE;
        if (active[0] >= allocated && active[0] <= reserved && is_group(active, active[0]) &&
            requested[0] && requested[0] <= allocated && is_group(requested, requested[0]))
            return places[i];
    }
    return 0;
}

/* Find the first match: the total's, which precedes those of the two pools. */
static void find_statistics(struct learning *found, const uint64_t *words, uint64_t begin)
{
    unsigned last = ACTIVE_LATER + EMPTIED_FROM_ACTIVE + 2;
    for (unsigned i = 0; i + last < WINDOW && i < BEFORE; i++) {
        const uint64_t *at = words + i;
        uint64_t address = begin + 8 * i;
        if (!is_group(at, found->allocated) || !is_group(at + RESERVED_AT, found->reserved))
            continue;
        unsigned active = active_of(at, found->allocated, found->reserved);
        if (!active)
            continue;
        found->agree =
            found->statistics == address && found->active == active ? found->agree + 1 : 1;
        found->statistics = address;
        found->active = (uint16_t)active;
        return;
    }
}

/* Find the only word after the pools that has the value. */
static void find_total(struct learning *found, const uint64_t *words, uint64_t begin)
{
    uint64_t address = 0;
    for (unsigned i = BEFORE + 1; i < WINDOW; i++)
        if (words[i] == found->reserved && address)
            return;
        else if (words[i] == found->reserved)
            address = begin + 8 * i;
    found->agree_total = address && found->total == address ? found->agree_total + 1 : 1;
    found->total = address;
}

static void use_word(unsigned device, unsigned word, uint64_t address)
{
    mt_allocator_words[device].last[word] = *(const uint64_t *)(uintptr_t)address;
    mt_allocator_words[device].word[word] = (const uint64_t *)(uintptr_t)address;
}

static void use_nothing(unsigned device, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        mt_allocator_words[device].last[i] = 0;
        mt_allocator_words[device].word[i] = &nothing;
    }
}

/* Use the statistics. Releases before 2.4 have no count of releases of the cache. */
static void use_statistics(unsigned device, const struct learning *found)
{
    uint64_t words[3], at = found->statistics + 8 * (found->active + EMPTIED_FROM_ACTIVE);
    if (mt_safe_read((const void *)(uintptr_t)at, words, sizeof words) || words[0] >= MOST_COUNT ||
        words[1] >= MOST_COUNT || words[2] > words[1]) {
        use_nothing(device, EMPTIED, RETRIES + 1);
        return;
    }
    use_word(device, EMPTIED, at);
    use_word(device, RETRIES, at - 8 * (EMPTIED_FROM_ACTIVE - RETRIES_FROM_ACTIVE));
}

static bool is_text(uint64_t word)
{
    for (unsigned i = 0; i < sizeof word; i++, word >>= 8)
        if ((word & 0xff) < ' ' || (word & 0xff) > '~')
            return false;
    return true;
}

/* Use the limit as a number, 0 without one; or, after the properties, as an optional one. */
static void use_limit(unsigned device, const struct learning *found)
{
    static const unsigned sizes[] = {PROPERTIES_13, PROPERTIES_12};
    uint64_t words[2];
    use_nothing(device, LIMIT, HAS_LIMIT + 1);
    if (mt_safe_read((const void *)(uintptr_t)(found->total + 8), words, sizeof words))
        return;
    if (words[0] < MOST_BYTES)
        use_word(device, LIMIT, found->total + 8);
    for (unsigned i = 0; i < 2 && is_text(words[0]); i++) {
        uint64_t at = found->total + 8 + 8 * sizes[i], here[2];
        if (mt_safe_read((const void *)(uintptr_t)at, here, sizeof here) || (here[1] & 0xff) > 1)
            continue;
        use_word(device, LIMIT, at);
        use_word(device, HAS_LIMIT, at + 8);
        return;
    }
}

/* Return the limit in bytes; 0 if there is none. */
static uint64_t limit_of(const struct mt_allocator_words *totals)
{
    uint64_t bytes = totals->last[LIMIT];
    bool has = totals->word[HAS_LIMIT] == &nothing || (totals->last[HAS_LIMIT] & 0xff) == 1;
    return has && bytes < MOST_BYTES ? bytes : 0;
}

static void learn(struct mt_thread *self, unsigned device, uint64_t allocated, uint64_t reserved,
                  uint64_t pool)
{
    struct learning *found = &learning[device];
    struct mt_allocator_words *totals = &mt_allocator_words[device];
    uint64_t words[WINDOW], begin = pool - (uint64_t)8 * BEFORE;
    if (!reserved || !allocated || (found->allocated == allocated && found->reserved == reserved) ||
        mt_safe_read((const void *)(uintptr_t)begin, words, sizeof words))
        return;
    found->allocated = allocated;
    found->reserved = reserved;
    if (!totals->word[EMPTIED]) {
        find_statistics(found, words, begin);
        if (found->agree == AGREE)
            use_statistics(device, found);
    }
    if (totals->word[HAS_LIMIT])
        return;
    find_total(found, words, begin);
    if (found->agree_total < AGREE)
        return;
    use_limit(device, found);
    if (limit_of(totals))
        mt_record(self, MT_MEMORY_LIMIT, (int)device, 0, MT_ARGS(limit_of(totals)));
}

/* Record the changes that this call is not about: retries free the cache, too; and within a MemPool
 * only its own part of the cache is freed. */
static void record_changes(struct mt_thread *self, unsigned device)
{
    struct mt_allocator_words *totals = &mt_allocator_words[device];
    uint64_t before[MT_TOTALS_WORDS], limit = limit_of(totals);
    memcpy(before, totals->last, sizeof before);
    for (unsigned i = 0; i < MT_TOTALS_WORDS; i++)
        totals->last[i] = totals->word[i] ? *totals->word[i] : 0;
    uint64_t emptied = totals->last[EMPTIED] - before[EMPTIED];
    uint64_t retries = totals->last[RETRIES] - before[RETRIES];
    bool is_in_pool = mt_pool_in_use.first | mt_pool_in_use.second;
    if (totals->word[EMPTIED] && emptied > retries && emptied < MOST_COUNT && !is_in_pool)
        mt_record(self, MT_EMPTY_CACHE, (int)device, 0, MT_ARGS(emptied - retries));
    if (totals->word[HAS_LIMIT] && limit_of(totals) != limit)
        mt_record(self, MT_MEMORY_LIMIT, (int)device, 0, MT_ARGS(limit_of(totals)));
}

/* Learn where the totals are; gives up after a while. */
void mt_totals_follow(struct mt_thread *self, unsigned kind, unsigned device,
                      const uint64_t arguments[static MT_EVENT_ARGS], struct mt_caller caller)
{
    uint64_t allocated = arguments[kind == MT_OOM ? 1 : 2];
    uint64_t reserved = arguments[kind == MT_OOM ? 2 : 3];
    if (device >= MT_TOTALS_DEVICES)
        return;
    struct mt_allocator_words *words = &mt_allocator_words[device];
    record_changes(self, device);
    if (words->word[EMPTIED] && words->word[HAS_LIMIT])
        return;
    const struct mt_thread_request *request = &self->request;
    bool is_known = kind == MT_ALLOC && request->device == (int)device &&
                    request->thread == self->id && request->shared;
    if (is_known && !learning[device].knows_before)
        mt_before_record(self, (int)device, arguments[0], allocated - arguments[1], reserved,
                         request->shared);
    learning[device].knows_before |= is_known;
    if (kind == MT_FREE && !learning[device].knows_before)
        learning[device].knows_before =
            mt_before_record_at_free(self, (int)device, arguments, caller);
    if (is_known)
        learn(self, device, allocated, reserved, request->shared);
    if (++learning[device].looks < LOOKS)
        return;
    if (!words->word[EMPTIED])
        use_nothing(device, EMPTIED, RETRIES + 1);
    if (!words->word[HAS_LIMIT])
        use_nothing(device, LIMIT, HAS_LIMIT + 1);
}

void mt_totals_reset(void)
{
    memset(mt_allocator_words, 0, sizeof mt_allocator_words);
    memset(learning, 0, sizeof learning);
}
