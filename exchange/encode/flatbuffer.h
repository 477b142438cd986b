/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes FlatBuffers, as far as Arrow's messages need them: from the end to the beginning, children
 * before their parents. A place is a distance from the end; 0: none. After memory has run out,
 * writes are ignored. Requires a little-endian machine, like the format.
 */
#ifndef MT_FLATBUFFER_H
#define MT_FLATBUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_FLAT_FIELDS 8u /* of a table, at most */

/* Initialize with zeros. */
struct mt_flat {
    unsigned char *bytes;
    size_t capacity, used; /* the used part is at the end */
    bool has_no_memory;
    uint32_t field[MT_FLAT_FIELDS], begin; /* of the current table */
};

uint32_t mt_flat_text(struct mt_flat *flat, const char *text);

/* Write a vector of places, or of n elements of plain numbers that are there in order. */
uint32_t mt_flat_places(struct mt_flat *flat, const uint32_t *place, size_t n);
uint32_t mt_flat_vector(struct mt_flat *flat, const void *elements, size_t n, size_t size,
                        size_t align);

/* Begin a table: its fields between begin and end, each by its number in the schema. */
void mt_flat_begin(struct mt_flat *flat);
void mt_flat_number(struct mt_flat *flat, unsigned field, uint64_t number, size_t size);
void mt_flat_place(struct mt_flat *flat, unsigned field, uint32_t place);
uint32_t mt_flat_end(struct mt_flat *flat);

/* Finish and return the buffer, whose size is a multiple of 8; NULL if out of memory. */
const unsigned char *mt_flat_finish(struct mt_flat *flat, uint32_t root, size_t *size);

/* Reset for the next one. */
void mt_flat_reset(struct mt_flat *flat);
void mt_flat_clear(struct mt_flat *flat);

#endif
