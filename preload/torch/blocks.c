/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks.h"
#include "preload/host/safe-read.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "trace-format/likely.h"

#include <stdatomic.h>
#include <string.h>

MT_HOT struct mt_block_site mt_block_sites[2];
MT_HOT _Atomic unsigned mt_block_size_word;
_Atomic uint64_t mt_block_areas[MT_BLOCK_AREAS];

/* Pages of areas that are not readable as a whole, by their number. */
#define PAGES 256u
#define PAGE 4096u
static _Atomic uint64_t pages[PAGES];

enum { FIRST_SIZE = 5 };
#define FRAME_WORDS 64u /* of a frame that may have the pointer */
#define TRIES 32u       /* records read carefully before one is read directly*/
#define DIFFERENT 4u    /* of which this many must differ from the one before */
#define MOST_WRONG 16u

/* A call that reports: each release has two. */
#define SITES 8u
static struct site {
    const void *code;
    uint64_t words;          /* a bit for each word of the frame that pointed to it every time */
    uint64_t last;           /* record */
    unsigned tries, changes; /* so far */
    unsigned wrong;          /* MOST_WRONG: given up */
} sites[SITES];
static struct mt_exclusive learning;

/* Return whether the page of an address is readable: each system call checks a whole area, because
 * records are created and freed in many pages of the heap. */
static bool is_page_readable(uint64_t at)
{
    uint64_t area = at / MT_BLOCK_AREA, page = at / PAGE;
    _Atomic uint64_t *known_area = mt_block_area_place(area), *known = &pages[page % PAGES];
    if (atomic_load_explicit(known_area, memory_order_relaxed) == area ||
        atomic_load_explicit(known, memory_order_relaxed) == page)
        return true;
    if (mt_readable_pages(area * MT_BLOCK_AREA, MT_BLOCK_AREA / PAGE) == MT_BLOCK_AREA / PAGE)
        atomic_store_explicit(known_area, area, memory_order_relaxed);
    else if (mt_readable_pages(page * PAGE, 1))
        atomic_store_explicit(known, page, memory_order_relaxed);
    else
        return false;
    return true;
}

static bool may_be_record(uint64_t at)
{
    return at % 8 == 0 && at >= MT_BLOCK_AREA && at < UINT64_C(1) << 47;
}

MT_UNSANITIZED const uint64_t *mt_block_find_anywhere(bool is_free, struct mt_caller caller)
{
    const struct mt_block_site *site = &mt_block_sites[is_free];
    if (atomic_load_explicit(&site->code, memory_order_acquire) != caller.code)
        return NULL;
    uint64_t at = caller.frame[atomic_load_explicit(&site->word, memory_order_relaxed)];
    bool is_readable =
        may_be_record(at) && is_page_readable(at) && is_page_readable(at + 8 * MT_BLOCK_WORDS - 1);
    return is_readable ? (const uint64_t *)(uintptr_t)at : NULL;
}

/* Return whether the next record's `previous` is this one, if there is a next one. */
static bool is_linked(uint64_t at, const uint64_t *record, unsigned word)
{
    uint64_t back, next = record[word + MT_BLOCK_NEXT];
    return !next || (may_be_record(next) &&
                     !mt_safe_read((const uint64_t *)(uintptr_t)next + word + MT_BLOCK_PREVIOUS,
                                   &back, sizeof back) &&
                     back == at);
}

/* Learn where the size is, from the first record that shows everything. */
static bool is_record(uint64_t at, const uint64_t *record, bool is_free, uint64_t address,
                      uint64_t bytes)
{
    unsigned known = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    if (known)
        return (is_free ? mt_block_is_freed(record, known, address, bytes)
                        : mt_block_is_handed_out(record, known, address, bytes)) &&
               is_linked(at, record, known);
    for (unsigned word = FIRST_SIZE; !is_free && word <= MT_BLOCK_LAST_SIZE; word++)
        if (mt_block_is_handed_out(record, word, address, bytes) &&
            !(unsigned)record[word + MT_BLOCK_EVENTS] && is_linked(at, record, word)) {
            atomic_store_explicit(&mt_block_size_word, word, memory_order_relaxed);
            return true;
        }
    return false;
}

static uint64_t search_frame(struct site *site, const uint64_t *frame, bool is_free,
                             uint64_t address, uint64_t bytes, uint64_t *record)
{
    uint64_t words[FRAME_WORDS], copy[MT_BLOCK_WORDS], found = 0, at = 0;
    if (mt_safe_read(frame, words, sizeof words))
        return 0;
    for (unsigned i = 0; i < FRAME_WORDS; i++) {
        if (!may_be_record(words[i]) || (site->tries && !(site->words >> i & 1)) ||
            mt_safe_read((const void *)(uintptr_t)words[i], copy, sizeof copy) ||
            !is_record(words[i], copy, is_free, address, bytes))
            continue;
        found |= UINT64_C(1) << i;
        at = words[i];
        memcpy(record, copy, sizeof copy);
    }
    if (!found)
        return 0;
    site->words = site->tries ? site->words & found : found;
    site->changes += at != site->last;
    site->last = at;
    site->tries++;
    return at;
}

static struct site *find_site(const void *code)
{
    for (unsigned i = 0; i < SITES; i++) {
        if (!sites[i].code)
            sites[i].code = code;
        if (sites[i].code == code)
            return &sites[i];
    }
    return NULL;
}

static bool is_known(const struct site *site)
{
    return site->tries >= TRIES && site->changes >= DIFFERENT && site->wrong < MOST_WRONG;
}

/* Use a site: a frequent call replaces a rare one. */
static void use_site(bool is_free, const struct site *site)
{
    struct mt_block_site *used = &mt_block_sites[is_free];
    atomic_store_explicit(&used->code, NULL, memory_order_release);
    atomic_store_explicit(&used->word, (unsigned)__builtin_ctzll(site->words),
                          memory_order_release);
    atomic_store_explicit(&used->code, site->code, memory_order_release);
}

/* Find a block. If another thread is searching, for another device, it is not found. */
uint64_t mt_block_find(bool is_free, struct mt_caller caller, uint64_t address, uint64_t size,
                       uint64_t record[MT_BLOCK_WORDS])
{
    uint64_t at = 0;
    struct mt_block_site *used = &mt_block_sites[is_free];
    if (!mt_exclusive_acquire(&learning))
        return 0;
    struct site *site = find_site(caller.code);
    if (site && site->wrong < MOST_WRONG) {
        at = search_frame(site, caller.frame, is_free, address, size, record);
        site->wrong += !at;
        if (is_known(site))
            use_site(is_free, site);
        else if (used->code == site->code)
            atomic_store_explicit(&used->code, NULL, memory_order_release);
    }
    mt_exclusive_release(&learning);
    return at;
}

unsigned mt_block_guess_freed(struct mt_caller caller, uint64_t address, uint64_t size,
                              unsigned after, uint64_t record[MT_BLOCK_WORDS])
{
    unsigned known = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    unsigned first = known ? known : FIRST_SIZE, last = known ? known : MT_BLOCK_LAST_SIZE;
    uint64_t words[FRAME_WORDS];
    if (mt_safe_read(caller.frame, words, sizeof words))
        return 0;
    for (unsigned word = after < first ? first : after + 1; word <= last; word++)
        for (unsigned i = 0; i < FRAME_WORDS; i++)
            if (may_be_record(words[i]) &&
                !mt_safe_read((const void *)(uintptr_t)words[i], record, 8 * MT_BLOCK_WORDS) &&
                mt_block_is_freed(record, word, address, size) && is_linked(words[i], record, word))
                return word;
    return 0;
}

void mt_blocks_have_waited(const uint64_t *record, const uint64_t *address, bool *has, unsigned n)
{
    enum { EACH = 3 };
    uint64_t from[MT_BLOCKS_AT_ONCE * EACH] = {0}, word[MT_BLOCKS_AT_ONCE * EACH];
    unsigned size = atomic_load_explicit(&mt_block_size_word, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        from[EACH * i] = record[i] + 8 * (size + MT_BLOCK_ADDRESS);
        from[EACH * i + 1] = record[i] + 8 * (size + MT_BLOCK_EVENTS);
        from[EACH * i + 2] = record[i] + 8 * MT_BLOCK_USES;
    }
    bool is_gone = mt_safe_read_words(from, word, EACH * n) != 0;
    for (unsigned i = 0; i < n; i++)
        has[i] = is_gone || word[EACH * i] != address[i] ||
                 !((unsigned)word[EACH * i + 1] || word[EACH * i + 2]);
}

/* Find a private pool. It contains both its pools of blocks, each of which points back to it, after
 * its two or three sets of blocks and a word with its kind. Shared pools have a null pointer there.
 * The kind is a byte: the rest of its word may look like a pointer. */
uint64_t mt_block_private_pool(uint64_t pool)
{
    enum { OWNER = 13, OWNER_BEHIND_THREE = 19, WORDS, MOST_BEFORE = 1024 };
    static const unsigned places[] = {OWNER, OWNER_BEHIND_THREE};
    uint64_t words[WORDS];
    if (!may_be_record(pool) || mt_safe_read((const void *)(uintptr_t)pool, words, sizeof words))
        return 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        uint64_t owner = words[places[i]];
        if (may_be_record(owner) && owner < pool && pool - owner < MOST_BEFORE)
            return owner;
    }
    return 0;
}

bool mt_blocks_are_found(void)
{
    return atomic_load(&mt_block_size_word);
}

void mt_blocks_reset(void)
{
    learning.by = 0;
}
