/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered.h"
#include "grow.h"
#include "search.h"

struct mt_ordered_piece {
    uint64_t first; /* address */
    unsigned used;  /* at least 1 */
    uint32_t number[MT_ORDERED_PIECE];
};

void mt_ordered_clear(struct mt_ordered *ordered)
{
    for (size_t i = 0; i < ordered->n_pieces; i++)
        free(ordered->pieces[i]);
    free(ordered->pieces);
    memset(ordered, 0, sizeof *ordered);
}

/* Return the number of pieces that begin at or below the address. */
static size_t pieces_below(const struct mt_ordered *ordered, uint64_t address)
{
    return MT_LEADING(i, ordered->n_pieces, ordered->pieces[i]->first <= address);
}

static uint64_t address_at(const struct mt_ordered_piece *piece, struct mt_ordered_keys keys,
                           unsigned at)
{
    return keys.address(keys.owner, piece->number[at]);
}

/* Return the number of entries of a piece at or below the address. */
static unsigned entries_below(const struct mt_ordered_piece *piece, struct mt_ordered_keys keys,
                              uint64_t address)
{
    return (unsigned)MT_LEADING(i, piece->used, address_at(piece, keys, (unsigned)i) <= address);
}

/* Make an empty piece at an index. */
static struct mt_ordered_piece *add_piece(struct mt_ordered *ordered, size_t index)
{
    if (MT_GROW(ordered->pieces, ordered->capacity, ordered->n_pieces))
        return NULL;
    struct mt_ordered_piece *piece = malloc(sizeof *piece);
    if (!piece)
        return NULL;
    piece->first = 0;
    piece->used = 0;
    memmove(ordered->pieces + index + 1, ordered->pieces + index,
            (ordered->n_pieces - index) * sizeof *ordered->pieces);
    ordered->pieces[index] = piece;
    ordered->n_pieces++;
    return piece;
}

static void remove_piece(struct mt_ordered *ordered, size_t index)
{
    free(ordered->pieces[index]);
    ordered->n_pieces--;
    memmove(ordered->pieces + index, ordered->pieces + index + 1,
            (ordered->n_pieces - index) * sizeof *ordered->pieces);
}

/* Move a full piece's entries from `keep` on into a new piece after it, which may stay empty. */
static int split(struct mt_ordered *ordered, struct mt_ordered_keys keys, size_t index,
                 unsigned keep)
{
    struct mt_ordered_piece *upper = add_piece(ordered, index + 1);
    if (!upper)
        return -ENOMEM;
    struct mt_ordered_piece *piece = ordered->pieces[index];
    upper->used = piece->used - keep;
    memcpy(upper->number, piece->number + keep, upper->used * sizeof *upper->number);
    piece->used = keep;
    if (upper->used)
        upper->first = address_at(upper, keys, 0);
    return 0;
}

static void insert(struct mt_ordered_piece *piece, unsigned at, uint64_t address, uint32_t number)
{
    memmove(piece->number + at + 1, piece->number + at, (piece->used - at) * sizeof *piece->number);
    piece->number[at] = number;
    piece->used++;
    if (at == 0)
        piece->first = address;
}

/* Return how many a split keeps. With entries in order, the pieces behind the new one stay full. */
static unsigned kept_by_split(const struct mt_ordered *ordered, size_t index, unsigned at)
{
    if (at == MT_ORDERED_PIECE && index + 1 == ordered->n_pieces)
        return at;
    return at == 0 && index == 0 ? 0 : MT_ORDERED_PIECE / 2;
}

int mt_ordered_put(struct mt_ordered *ordered, struct mt_ordered_keys keys, uint32_t number)
{
    uint64_t address = keys.address(keys.owner, number);
    if (!ordered->n_pieces && !add_piece(ordered, 0))
        return -ENOMEM;
    size_t index = pieces_below(ordered, address);
    index -= index > 0;
    unsigned at = entries_below(ordered->pieces[index], keys, address);
    if (ordered->pieces[index]->used == MT_ORDERED_PIECE) {
        unsigned keep = kept_by_split(ordered, index, at);
        if (split(ordered, keys, index, keep))
            return -ENOMEM;
        if (keep && at >= keep && (at > keep || keep == MT_ORDERED_PIECE)) {
            index++;
            at -= keep;
        }
    }
    insert(ordered->pieces[index], at, address, number);
    return 0;
}

/* Merge a piece and the next, if both have few entries. */
static void join(struct mt_ordered *ordered, size_t index)
{
    if (index + 1 >= ordered->n_pieces)
        return;
    struct mt_ordered_piece *piece = ordered->pieces[index], *next = ordered->pieces[index + 1];
    if (piece->used + next->used > MT_ORDERED_PIECE * 3 / 4)
        return;
    memcpy(piece->number + piece->used, next->number, next->used * sizeof *next->number);
    piece->used += next->used;
    remove_piece(ordered, index + 1);
}

void mt_ordered_remove(struct mt_ordered *ordered, struct mt_ordered_keys keys, uint64_t address)
{
    size_t index = pieces_below(ordered, address);
    if (index-- == 0)
        return;
    struct mt_ordered_piece *piece = ordered->pieces[index];
    unsigned at = entries_below(piece, keys, address);
    if (at-- == 0 || address_at(piece, keys, at) != address)
        return;
    piece->used--;
    memmove(piece->number + at, piece->number + at + 1, (piece->used - at) * sizeof *piece->number);
    if (!piece->used) {
        remove_piece(ordered, index);
        return;
    }
    if (at == 0)
        piece->first = address_at(piece, keys, 0);
    if (piece->used > MT_ORDERED_PIECE / 2)
        return;
    join(ordered, index);
    if (index)
        join(ordered, index - 1);
}

bool mt_ordered_below(const struct mt_ordered *ordered, struct mt_ordered_keys keys,
                      uint64_t address, uint32_t *number)
{
    size_t index = pieces_below(ordered, address);
    if (index == 0)
        return false;
    const struct mt_ordered_piece *piece = ordered->pieces[index - 1];
    *number = piece->number[entries_below(piece, keys, address) - 1];
    return true;
}
