/* SPDX-License-Identifier: Apache-2.0 */
#include "pointers.h"
#include "bits.h"
#include "chunks.h"
#include "pages.h"
#include "preload/host/memory.h"

#define MOST_HITS (1u << 20)
#define HITS_OF_BLOCK 256u
#define PLACES (2 * MOST_HITS) /* of the hash table of wanted pieces: a power of two */
#define MOST_ROOTS (1u << 22)

/* A word with an address in a block. */
struct hit {
    uint64_t at;
    uint32_t block, region;
    uint32_t next;  /* of the block, plus 1 */
    uint32_t piece; /* its place, plus 1; 0: in no piece */
    uint32_t next_in_piece;
};

/* A piece with such words. */
struct wanted {
    uint64_t begin;
    uint32_t hit;     /* the last one, plus 1; 0: the place is free */
    uint32_t reached; /* plus 1; 0: not yet */
};

/* A piece that a root leads to. */
struct reached {
    uint64_t begin;
    uint32_t root, steps; /* steps: from the root to this piece */
};

struct root {
    uint64_t at;
    uint32_t region;
};

struct mt_pointers {
    const struct mt_regions *regions;
    struct mt_pieces *pieces;
    uint32_t n_blocks, n_left; /* n_left: with hits, and not reached */
    uint32_t *first, *count;   /* of each block: the last hit that was found, plus 1; how many */
    uint8_t *is_reached, *is_unaligned;
    struct mt_targets *targets;
    struct mt_address_range in_pieces, any; /* any: of those or of blocks */
    uint64_t *pages, *first_page; /* bits: pages of pieces that have an address in a piece */
    struct hit *hit;
    struct wanted *wanted;
    struct reached *reached;
    struct root *root;
    uint32_t n_hits, n_reached, n_scanned, most_reached, n_roots;
    uint32_t n_of_variables; /* of those reached: those that were before threads' memory */
    bool is_full, are_hits_known, is_closed, is_checked;
};

typedef void on_word(struct mt_pointers *p, uint32_t region, uint64_t at, uint64_t word);

static uint64_t count_pages(const struct mt_region *region)
{
    return region->end / MT_PAGE - region->begin / MT_PAGE + 1;
}

static bool get_room(struct mt_pointers *p, uint32_t n, uint64_t most_bytes)
{
    uint64_t pages = 0, most = most_bytes / sizeof *p->reached;
    p->first_page = mt_map((p->regions->n + 1) * sizeof *p->first_page);
    for (uint32_t i = 0; p->first_page && i < p->regions->n; i++) {
        p->first_page[i] = pages;
        pages +=
            mt_region_has_pieces(&p->regions->region[i]) ? count_pages(&p->regions->region[i]) : 0;
    }
    p->most_reached = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX - 1;
    p->pages = mt_map(pages / 8 + sizeof *p->pages);
    p->first = mt_map((n + 1) * sizeof *p->first);
    p->count = mt_map((n + 1) * sizeof *p->count);
    p->is_reached = mt_map(n + 1);
    p->is_unaligned = mt_map(n + 1);
    p->hit = mt_map(MOST_HITS * sizeof *p->hit);
    p->wanted = mt_map(PLACES * sizeof *p->wanted);
    p->reached = mt_map((p->most_reached + 1) * sizeof *p->reached);
    p->root = mt_map(MOST_ROOTS * sizeof *p->root);
    return p->first_page && p->pages && p->first && p->count && p->is_reached && p->is_unaligned &&
           p->hit && p->wanted && p->reached && p->root;
}

static struct mt_address_range range_of_both(struct mt_address_range a, struct mt_address_range b)
{
    uint64_t low = a.low < b.low ? a.low : b.low;
    uint64_t a_end = a.low + a.span, b_end = b.low + b.span;
    return (struct mt_address_range){low, (a_end > b_end ? a_end : b_end) - low};
}

struct mt_pointers *mt_pointers_create(const struct mt_regions *regions,
                                       const struct mt_pointed *blocks, uint32_t n,
                                       uint64_t most_bytes)
{
    struct mt_pointers *p = mt_map(sizeof *p);
    if (!p)
        return NULL;
    p->regions = regions;
    p->n_blocks = n;
    p->targets = mt_targets_create(blocks, n);
    p->pieces = mt_pieces_create(regions);
    if (!p->targets || !p->pieces || !get_room(p, n, most_bytes))
        return NULL;
    p->in_pieces = (struct mt_address_range){p->pieces->low, p->pieces->span};
    p->any = range_of_both(p->in_pieces, p->targets->all);
    return p;
}

static inline __attribute__((always_inline)) void scan(struct mt_pointers *p, uint32_t region,
                                                       uint64_t begin, uint64_t end,
                                                       struct mt_address_range range,
                                                       on_word *found)
{
    for (uint64_t at = begin; at + 8 <= end; at += 8) {
        uint64_t word = mt_scan_word(at);
        if (__builtin_expect(word - range.low < range.span, 0))
            found(p, region, at, word);
    }
}

static void add_hit(struct mt_pointers *p, uint32_t region, uint64_t at, uint64_t word)
{
    uint32_t block = mt_target_with(p->targets, word);
    if (block == MT_NO_TARGET)
        return;
    const struct mt_region *here = &p->regions->region[region];
    if (here->sort == MT_REGION_CUDA ||
        p->count[block]++ >= (mt_region_has_pieces(here) ? HITS_OF_BLOCK : 4 * HITS_OF_BLOCK))
        return;
    if (p->n_hits == MOST_HITS) {
        p->is_full = true;
        return;
    }
    p->hit[p->n_hits] =
        (struct hit){.at = at, .block = block, .region = region, .next = p->first[block]};
    p->first[block] = ++p->n_hits;
}

/* Scan a page or less, and note whether it has addresses in pieces. */
static void scan_page(void *pointers, uint32_t region, uint64_t begin, uint64_t end)
{
    struct mt_pointers *p = pointers;
    const struct mt_address_range any = p->any, pieces = p->in_pieces;
    uint64_t is_any = 0, is_any_piece = 0;
    for (uint64_t at = begin; at + 8 <= end; at += 8)
        is_any |= mt_scan_word(at) - any.low < any.span;
    if (!is_any)
        return;
    scan(p, region, begin, end, p->targets->all, add_hit);
    for (uint64_t at = begin; at + 8 <= end; at += 8)
        is_any_piece |= mt_scan_word(at) - pieces.low < pieces.span;
    if (is_any_piece && mt_region_has_pieces(&p->regions->region[region])) {
        uint64_t page =
            p->first_page[region] + begin / MT_PAGE - p->regions->region[region].begin / MT_PAGE;
        mt_bit_set(p->pages, page);
    }
}

static bool is_root(const struct mt_region *region)
{
    return !mt_region_has_pieces(region) && region->sort != MT_REGION_CUDA;
}

/* Return the place of a piece in the table of wanted ones. */
static struct wanted *place_of(struct mt_pointers *p, uint64_t begin)
{
    uint32_t i = (uint32_t)((begin >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    while (p->wanted[i & (PLACES - 1)].hit && p->wanted[i & (PLACES - 1)].begin != begin)
        i++;
    return &p->wanted[i & (PLACES - 1)];
}

/* Find the pieces whose words have addresses in blocks: those are wanted. */
static void find_wanted(struct mt_pointers *p)
{
    struct mt_piece piece;
    for (uint32_t i = 0; i < p->n_hits; i++) {
        struct hit *hit = &p->hit[i];
        if (is_root(&p->regions->region[hit->region]) || !mt_piece_find(p->pieces, hit->at, &piece))
            continue;
        struct wanted *wanted = place_of(p, piece.begin);
        wanted->begin = piece.begin;
        hit->next_in_piece = wanted->hit;
        hit->piece = (uint32_t)(wanted - p->wanted) + 1;
        wanted->hit = i + 1;
        mt_piece_mark(p->pieces, &piece, MT_PIECE_IS_WANTED);
    }
}

static void reach_block(struct mt_pointers *p, uint32_t block)
{
    p->n_left -= p->first[block] && !p->is_reached[block];
    p->is_reached[block] = 1;
}

/* Return whether a piece is not of the program alone. The kernel merges mappings of both. */
static bool is_cudas(struct mt_pointers *p, const struct mt_piece *piece)
{
    return piece->is_malloced && mt_piece_has(p->pieces, piece, MT_PIECE_IS_CUDAS);
}

/* Note that the program reaches a wanted piece. */
static void reach_wanted(struct mt_pointers *p, const struct mt_piece *piece)
{
    struct wanted *wanted = place_of(p, piece->begin);
    wanted->reached = p->n_reached;
    if (is_cudas(p, piece))
        return;
    for (uint32_t hit = wanted->hit; hit; hit = p->hit[hit - 1].next_in_piece)
        reach_block(p, p->hit[hit - 1].block);
}

/* Add the piece that an address is in. */
static void reach(struct mt_pointers *p, uint64_t word, uint32_t root, uint32_t steps)
{
    struct mt_piece piece;
    if (!mt_piece_find(p->pieces, word, &piece) ||
        !mt_piece_mark(p->pieces, &piece, MT_PIECE_IS_REACHED))
        return;
    if (p->n_reached == p->most_reached) {
        p->is_full = true;
        return;
    }
    p->reached[p->n_reached++] = (struct reached){piece.begin, root, steps};
    if (mt_piece_has(p->pieces, &piece, MT_PIECE_IS_WANTED))
        reach_wanted(p, &piece);
}

static void follow_root(struct mt_pointers *p, uint32_t region, uint64_t at, uint64_t word)
{
    uint32_t before = p->n_reached;
    if (p->n_roots == MOST_ROOTS) {
        p->is_full = true;
        return;
    }
    reach(p, word, p->n_roots, 1);
    if (p->n_reached > before)
        p->root[p->n_roots++] = (struct root){at, region};
}

static void scan_root(void *pointers, uint32_t region, uint64_t begin, uint64_t end)
{
    struct mt_pointers *p = pointers;
    scan(p, region, begin, end, p->in_pieces, follow_root);
}

static void follow(struct mt_pointers *p, uint32_t from, uint64_t at, uint64_t word)
{
    (void)at;
    reach(p, word, p->reached[from].root, p->reached[from].steps + 1);
}

static void mark_cudas(struct mt_pointers *p, uint32_t region, uint64_t at, uint64_t word)
{
    (void)region, (void)at;
    struct mt_piece piece;
    if (!mt_piece_find(p->pieces, word, &piece) ||
        !mt_piece_mark(p->pieces, &piece, MT_PIECE_IS_CUDAS))
        return;
    p->is_full = p->is_full || p->n_reached == p->most_reached;
    if (!p->is_full)
        p->reached[p->n_reached++].begin = piece.begin;
}

static void scan_cudas(void *pointers, uint32_t region, uint64_t begin, uint64_t end)
{
    struct mt_pointers *p = pointers;
    scan(p, region, begin, end, p->in_pieces, mark_cudas);
}

/* Follow the pointers of the pieces that were reached, nearest first, while `found` adds others and
 * *left is not 0. */
static inline __attribute__((always_inline)) void walk(struct mt_pointers *p, const uint32_t *left,
                                                       on_word *found)
{
    struct mt_piece piece;
    for (; p->n_scanned < p->n_reached && *left; p->n_scanned++) {
        if (!mt_piece_find(p->pieces, p->reached[p->n_scanned].begin, &piece))
            continue;
        uint32_t region = p->pieces->last;
        uint64_t page = p->first_page[region] + piece.begin / MT_PAGE -
                        p->regions->region[region].begin / MT_PAGE;
        for (uint64_t at = piece.begin, end; at < piece.end; at = end, page++) {
            end = (at / MT_PAGE + 1) * MT_PAGE;
            end = end < piece.end ? end : piece.end;
            if (mt_bit_has(p->pages, page))
                scan(p, p->n_scanned, at, end, p->in_pieces, found);
        }
    }
}

/* Find what memory leads from CUDA's libraries to. */
static void walk_cudas(struct mt_pointers *p)
{
    for (uint32_t i = 0; i < p->regions->n; i++)
        if (p->regions->region[i].sort == MT_REGION_CUDA)
            mt_pages_each(p->regions, i, p, scan_cudas);
    walk(p, &p->n_blocks, mark_cudas);
    p->n_reached = p->n_scanned = 0;
}

static bool is_of_thread(const struct mt_region *region)
{
    return region->thread != 0;
}

/* Reach the blocks whose addresses are in variables, or in a thread's memory, and follow pointers
 * from there until all blocks are reached. */
static void walk_from(struct mt_pointers *p, bool is_thread)
{
    const struct mt_region *region = p->regions->region;
    for (uint32_t i = 0; i < p->n_hits; i++)
        if (is_root(&region[p->hit[i].region]) &&
            is_of_thread(&region[p->hit[i].region]) == is_thread)
            reach_block(p, p->hit[i].block);
    for (uint32_t i = 0; i < p->regions->n && p->n_left; i++)
        if (is_root(&region[i]) && is_of_thread(&region[i]) == is_thread)
            mt_pages_each(p->regions, i, p, scan_root);
    walk(p, &p->n_left, follow);
}

static void check_byte(struct mt_pointers *p, uint64_t at)
{
    uint32_t block = mt_target_with(p->targets, mt_scan_word(at));
    if (block != MT_NO_TARGET)
        p->is_unaligned[block] = 1;
}

static void check_page(void *pointers, uint32_t region, uint64_t begin, uint64_t end)
{
    struct mt_pointers *p = pointers;
    const struct mt_address_range blocks = p->targets->all;
    end = end + 7 < p->regions->region[region].end ? end + 7 : p->regions->region[region].end;
    for (uint64_t at = begin; at + 8 <= end; at++)
        if (at % 8 && __builtin_expect(mt_scan_word(at) - blocks.low < blocks.span, 0))
            check_byte(p, at);
}

/* Before a block is called lost: scan for its address where no word begins. */
static void check_lost(struct mt_pointers *p)
{
    bool is_any = false;
    for (uint32_t i = 0; i < p->n_blocks; i++)
        is_any = is_any || !p->is_reached[i];
    for (uint32_t i = 0; is_any && i < p->regions->n; i++)
        if (p->regions->region[i].sort != MT_REGION_CUDA)
            mt_pages_each(p->regions, i, p, check_page);
    p->is_checked = true;
}

void mt_pointers_search(struct mt_pointers *p)
{
    for (uint32_t i = 0; i < p->regions->n; i++)
        mt_pages_each(p->regions, i, p, scan_page);
    p->are_hits_known = true;
    find_wanted(p);
    for (uint32_t i = 0; i < p->n_blocks; i++)
        p->n_left += p->first[i] != 0;
    walk_cudas(p);
    walk_from(p, false);
    p->n_of_variables = p->n_reached;
    walk_from(p, true);
    p->is_closed = !p->is_full && !p->regions->is_full;
    check_lost(p);
}

bool mt_pointers_are_complete(const struct mt_pointers *p)
{
    return p->is_closed;
}

bool mt_pointers_are_full(const struct mt_pointers *p)
{
    return p->is_full || p->regions->is_full;
}

static struct mt_piece piece_of(struct mt_pointers *p, const struct hit *hit)
{
    struct mt_piece piece = {0};
    mt_piece_find(p->pieces, p->wanted[hit->piece - 1].begin, &piece);
    return piece;
}

/* Return how good a word is as what holds its block, the best first: variables, what they lead to,
 * stacks, what those lead to; UINT64_MAX: the program does not reach it. */
static uint64_t rank(struct mt_pointers *p, uint32_t i)
{
    const struct hit *hit = &p->hit[i];
    const struct mt_region *region = &p->regions->region[hit->region];
    if (is_root(region))
        return (uint64_t)(is_of_thread(region) ? 2 : 0) << 32 | i;
    uint32_t reached = hit->piece ? p->wanted[hit->piece - 1].reached : 0;
    struct mt_piece piece;
    if (!reached || (piece = piece_of(p, hit), is_cudas(p, &piece)))
        return UINT64_MAX;
    return (uint64_t)(reached > p->n_of_variables ? 3 : 1) << 32 | reached;
}

/* Return the best word of a block whose rank is not below `least`; NULL: there is none. */
static const struct hit *best(struct mt_pointers *p, uint32_t block, uint64_t least, uint64_t *of)
{
    const struct hit *best = NULL;
    *of = UINT64_MAX;
    for (uint32_t i = p->first[block]; i; i = p->hit[i - 1].next) {
        uint64_t its = rank(p, i - 1);
        if (its < least || its >= *of)
            continue;
        best = &p->hit[i - 1];
        *of = its;
    }
    return best;
}

static void describe(struct mt_pointers *p, const struct hit *hit, struct mt_pointer_way *way)
{
    *way = (struct mt_pointer_way){.at = hit->at};
    if (!hit->piece) {
        way->root = &p->regions->region[hit->region];
        way->root_at = hit->at;
        return;
    }
    way->last = piece_of(p, hit);
    way->n = 1;
    uint32_t number = p->wanted[hit->piece - 1].reached;
    if (!number)
        return;
    const struct reached *reached = &p->reached[number - 1];
    way->n = reached->steps;
    way->root = &p->regions->region[p->root[reached->root].region];
    way->root_at = p->root[reached->root].at;
}

/* Say why no word that the program reaches has a block's address. */
static enum mt_pointed_state state_of(struct mt_pointers *p, uint32_t block,
                                      struct mt_pointer_way *way)
{
    enum mt_pointed_state state = p->is_unaligned[block] ? MT_POINTED_UNALIGNED
                                  : p->is_checked        ? MT_POINTED_LOST
                                                         : MT_POINTED_UNKNOWN;
    if (!p->is_closed || p->count[block] > HITS_OF_BLOCK)
        return MT_POINTED_UNKNOWN;
    for (uint32_t i = p->first[block]; i; i = p->hit[i - 1].next) {
        const struct hit *hit = &p->hit[i - 1];
        if (!hit->piece)
            continue; /* free */
        struct mt_piece piece = piece_of(p, hit);
        bool is_cudas = mt_piece_has(p->pieces, &piece, MT_PIECE_IS_CUDAS);
        if (!is_cudas) {
            describe(p, hit, way);
            return MT_POINTED_UNREACHED;
        }
        if (p->wanted[hit->piece - 1].reached)
            state = MT_POINTED_CUDAS;
    }
    return state;
}

bool mt_pointers_way(struct mt_pointers *p, uint32_t block, unsigned i,
                     enum mt_pointed_state *state, struct mt_pointer_way *way)
{
    uint64_t least = 0, of = 0;
    const struct hit *hit = NULL;
    bool is_of_variable = false; /* a thread's memory may have old values */
    *way = (struct mt_pointer_way){0};
    for (unsigned k = 0; p->are_hits_known && k <= i && i < MT_POINTERS_OF_BLOCK; k++) {
        hit = best(p, block, least, &of);
        least = of + 1;
        if (!hit || (is_of_variable && of >> 32 >= 2)) {
            hit = NULL;
            break;
        }
        is_of_variable = of >> 32 < 2;
    }
    if (hit)
        describe(p, hit, way);
    if (!i)
        *state = hit ? MT_POINTED_HELD : state_of(p, block, way);
    return hit || !i;
}
