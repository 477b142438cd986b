/* SPDX-License-Identifier: Apache-2.0 */
#include "pieces.h"
#include "bits.h"
#include "chunks.h"
#include "preload/host/memory.h"

#define UNIT 16u             /* of malloc's addresses */
#define BLOCK UINT64_C(4096) /* bits of a region are a multiple of this: a word of `dense` */

/* Return the bit of an address in a region. */
static uint64_t bit_of(const struct mt_pieces *pieces, uint32_t region, uint64_t address)
{
    if (pieces->regions->region[region].sort == MT_REGION_OTHER)
        return pieces->first[region];
    return pieces->first[region] + address / UNIT - pieces->regions->region[region].begin / UNIT;
}

static void note_chunks(struct mt_pieces *pieces, uint32_t i)
{
    const struct mt_region *region = &pieces->regions->region[i];
    struct mt_malloc_chunk chunk;
    uint64_t at = region->begin;
    while (mt_chunk_next(region, &at, &chunk)) {
        if (chunk.is_unknown) {
            pieces->unknown[i] = chunk.begin;
        } else if (chunk.is_used) {
            uint64_t bit = bit_of(pieces, i, chunk.begin);
            mt_bit_set(pieces->starts, bit);
            mt_bit_set(pieces->dense, bit / 64);
        }
    }
}

/* Give each region its bits. Return how many there are. */
static uint64_t lay_out(struct mt_pieces *pieces)
{
    uint64_t n = 0, high = 0;
    pieces->low = UINT64_MAX;
    for (uint32_t i = 0; i < pieces->regions->n; i++) {
        const struct mt_region *region = &pieces->regions->region[i];
        pieces->first[i] = n;
        pieces->unknown[i] = region->end;
        if (!mt_region_has_pieces(region))
            continue;
        uint64_t bits =
            region->sort == MT_REGION_CHUNKS ? (region->end - region->begin) / UNIT + 2 : 1;
        n += (bits + BLOCK - 1) & ~(BLOCK - 1);
        pieces->low = region->begin < pieces->low ? region->begin : pieces->low;
        high = region->end > high ? region->end : high;
    }
    pieces->span = high > pieces->low ? high - pieces->low : 0;
    return n;
}

struct mt_pieces *mt_pieces_create(const struct mt_regions *regions)
{
    struct mt_pieces *pieces = mt_map(sizeof *pieces);
    if (!pieces)
        return NULL;
    pieces->regions = regions;
    pieces->first = mt_map((regions->n + 1) * sizeof *pieces->first);
    pieces->unknown = mt_map((regions->n + 1) * sizeof *pieces->unknown);
    if (!pieces->first || !pieces->unknown || !mt_chunks_find_freed(regions))
        return NULL;
    size_t bytes = lay_out(pieces) / 8 + sizeof(uint64_t);
    pieces->starts = mt_map(bytes);
    pieces->dense = mt_map(bytes / 64 + sizeof(uint64_t));
    bool has_room = pieces->starts && pieces->dense;
    for (unsigned i = 0; i < MT_PIECE_MARKS; i++)
        has_room = (pieces->mark[i] = mt_map(bytes)) && has_room;
    if (!has_room)
        return NULL;
    for (uint32_t i = 0; i < regions->n; i++)
        if (regions->region[i].sort == MT_REGION_CHUNKS)
            note_chunks(pieces, i);
    return pieces;
}

/* Return the region with an address; all of them are in order. n: none. */
static uint32_t region_with(struct mt_pieces *pieces, uint64_t address)
{
    const struct mt_region *region = pieces->regions->region;
    uint32_t low = 0, high = pieces->regions->n;
    if (address - region[pieces->last].begin <
        region[pieces->last].end - region[pieces->last].begin)
        return pieces->last;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (region[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == pieces->regions->n || address < region[low].begin)
        return pieces->regions->n;
    return pieces->last = low;
}

/* Find the last bit that is set, from `least` to `bit`. Return false if there is none. */
static bool last_start(const struct mt_pieces *pieces, uint64_t least, uint64_t *bit)
{
    uint64_t word = *bit / 64, bits = pieces->starts[word] & ~UINT64_C(0) >> (63 - *bit % 64);
    if (!bits) {
        uint64_t place = word / 64;
        uint64_t words = pieces->dense[place] & ((UINT64_C(1) << word % 64) - 1);
        while (!words && place > least / BLOCK)
            words = pieces->dense[--place];
        if (!words)
            return false;
        word = place * 64 + 63 - (unsigned)__builtin_clzll(words);
        bits = pieces->starts[word];
    }
    *bit = word * 64 + 63 - (unsigned)__builtin_clzll(bits);
    return *bit >= least;
}

bool mt_piece_find(struct mt_pieces *pieces, uint64_t address, struct mt_piece *piece)
{
    if (address - pieces->low >= pieces->span)
        return false;
    uint32_t i = region_with(pieces, address);
    const struct mt_region *region = &pieces->regions->region[i];
    if (i == pieces->regions->n || !mt_region_has_pieces(region))
        return false;
    if (region->sort == MT_REGION_OTHER || address >= pieces->unknown[i]) {
        bool is_other = region->sort == MT_REGION_OTHER;
        *piece =
            (struct mt_piece){is_other ? region->begin : pieces->unknown[i], region->end, false};
        return true;
    }
    uint64_t bit = bit_of(pieces, i, address);
    if (!last_start(pieces, pieces->first[i], &bit))
        return false;
    uint64_t begin = (bit - pieces->first[i] + region->begin / UNIT) * UNIT;
    *piece = (struct mt_piece){begin, mt_chunk_end(begin), true};
    return address < piece->end;
}

static uint64_t bit_of_piece(struct mt_pieces *pieces, const struct mt_piece *piece)
{
    return bit_of(pieces, region_with(pieces, piece->begin), piece->begin);
}

bool mt_piece_has(struct mt_pieces *pieces, const struct mt_piece *piece, enum mt_piece_mark mark)
{
    return mt_bit_has(pieces->mark[mark], bit_of_piece(pieces, piece));
}

bool mt_piece_mark(struct mt_pieces *pieces, const struct mt_piece *piece, enum mt_piece_mark mark)
{
    uint64_t bit = bit_of_piece(pieces, piece);
    bool is_new = !mt_bit_has(pieces->mark[mark], bit);
    mt_bit_set(pieces->mark[mark], bit);
    return is_new;
}
