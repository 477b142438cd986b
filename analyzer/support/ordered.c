/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered.h"
#include "grow.h"

struct mt_ordered_piece {
    unsigned used; /* at least 1 */
    uint64_t address[MT_ORDERED_PIECE];
    uint32_t value[MT_ORDERED_PIECE];
};

void mt_ordered_clear(struct mt_ordered *ordered)
{
    for (size_t i = 0; i < ordered->n_pieces; i++)
        free(ordered->pieces[i]);
    free(ordered->pieces);
    memset(ordered, 0, sizeof *ordered);
}

/* The number of pieces that begin at or below the address. */
static size_t pieces_below(const struct mt_ordered *ordered, uint64_t address)
{
    size_t low = 0, high = ordered->n_pieces;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ordered->pieces[middle]->address[0] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of entries of a piece at or below the address. */
static unsigned entries_below(const struct mt_ordered_piece *piece, uint64_t address)
{
    unsigned low = 0, high = piece->used;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (piece->address[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes an empty piece at an index. */
static struct mt_ordered_piece *add_piece(struct mt_ordered *ordered, size_t index)
{
    if (mt_grow(&ordered->pieces, &ordered->capacity, ordered->n_pieces + 1,
                sizeof *ordered->pieces))
        return NULL;
    struct mt_ordered_piece *piece = malloc(sizeof *piece);
    if (!piece)
        return NULL;
    piece->used = 0;
    memmove(ordered->pieces + index + 1, ordered->pieces + index,
            (ordered->n_pieces - index) * sizeof *ordered->pieces);
    ordered->pieces[index] = piece;
    ordered->n_pieces++;
    return piece;
}

/* Moves the upper half of a full piece into a new one after it. */
static int split(struct mt_ordered *ordered, size_t index)
{
    struct mt_ordered_piece *upper = add_piece(ordered, index + 1);
    if (!upper)
        return -ENOMEM;
    struct mt_ordered_piece *piece = ordered->pieces[index];
    unsigned keep = piece->used / 2;
    upper->used = piece->used - keep;
    memcpy(upper->address, piece->address + keep, upper->used * sizeof *upper->address);
    memcpy(upper->value, piece->value + keep, upper->used * sizeof *upper->value);
    piece->used = keep;
    return 0;
}

static void insert(struct mt_ordered_piece *piece, unsigned at, uint64_t address, uint32_t value)
{
    unsigned after = piece->used - at;
    memmove(piece->address + at + 1, piece->address + at, after * sizeof *piece->address);
    memmove(piece->value + at + 1, piece->value + at, after * sizeof *piece->value);
    piece->address[at] = address;
    piece->value[at] = value;
    piece->used++;
}

int mt_ordered_put(struct mt_ordered *ordered, uint64_t address, uint32_t value)
{
    if (!ordered->n_pieces) {
        struct mt_ordered_piece *first = add_piece(ordered, 0);
        if (!first)
            return -ENOMEM;
        insert(first, 0, address, value);
        return 0;
    }
    size_t index = pieces_below(ordered, address);
    index -= index > 0;
    unsigned at = entries_below(ordered->pieces[index], address);
    if (at && ordered->pieces[index]->address[at - 1] == address) {
        ordered->pieces[index]->value[at - 1] = value;
        return 0;
    }
    if (ordered->pieces[index]->used == MT_ORDERED_PIECE) {
        if (split(ordered, index))
            return -ENOMEM;
        unsigned kept = ordered->pieces[index]->used;
        if (at > kept) {
            index++;
            at -= kept;
        }
    }
    insert(ordered->pieces[index], at, address, value);
    return 0;
}

void mt_ordered_remove(struct mt_ordered *ordered, uint64_t address)
{
    size_t index = pieces_below(ordered, address);
    if (index-- == 0)
        return;
    struct mt_ordered_piece *piece = ordered->pieces[index];
    unsigned at = entries_below(piece, address);
    if (at-- == 0 || piece->address[at] != address)
        return;
    unsigned after = piece->used - at - 1;
    memmove(piece->address + at, piece->address + at + 1, after * sizeof *piece->address);
    memmove(piece->value + at, piece->value + at + 1, after * sizeof *piece->value);
    if (--piece->used)
        return;
    free(piece);
    ordered->n_pieces--;
    memmove(ordered->pieces + index, ordered->pieces + index + 1,
            (ordered->n_pieces - index) * sizeof *ordered->pieces);
}

int mt_ordered_below(const struct mt_ordered *ordered, uint64_t address, uint32_t *value)
{
    size_t index = pieces_below(ordered, address);
    if (index == 0)
        return 0;
    const struct mt_ordered_piece *piece = ordered->pieces[index - 1];
    *value = piece->value[entries_below(piece, address) - 1];
    return 1;
}
