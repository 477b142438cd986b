/* SPDX-License-Identifier: Apache-2.0 */
#include "flatbuffer.h"

#include <stdlib.h>
#include <string.h>

/* Put bytes before what is there; NULL: zeros. */
static void push(struct mt_flat *flat, const void *bytes, size_t size)
{
    if (flat->has_no_memory)
        return;
    if (size > flat->capacity - flat->used) {
        size_t capacity = (flat->capacity + size) * 2 + 1024;
        unsigned char *more = malloc(capacity);
        flat->has_no_memory = !more;
        if (!more)
            return;
        if (flat->used)
            memcpy(more + capacity - flat->used, flat->bytes + flat->capacity - flat->used,
                   flat->used);
        free(flat->bytes);
        flat->bytes = more;
        flat->capacity = capacity;
    }
    flat->used += size;
    if (!size)
        return; /* and there may be no bytes yet */
    unsigned char *to = flat->bytes + flat->capacity - flat->used;
    if (bytes)
        memcpy(to, bytes, size);
    else
        memset(to, 0, size);
}

/* Pad so that after `more` bytes the next one is at a multiple of align, from the end. */
static void pad(struct mt_flat *flat, size_t align, size_t more)
{
    push(flat, NULL, -(flat->used + more) & (align - 1));
}

static void push_place(struct mt_flat *flat, uint32_t place)
{
    pad(flat, 4, 0);
    uint32_t distance = (uint32_t)flat->used + 4 - place;
    push(flat, &distance, 4);
}

uint32_t mt_flat_vector(struct mt_flat *flat, const void *elements, size_t n, size_t size,
                        size_t align)
{
    uint32_t count = (uint32_t)n;
    pad(flat, 4, n * size);
    pad(flat, align, n * size);
    push(flat, elements, n * size);
    push(flat, &count, 4);
    return (uint32_t)flat->used;
}

uint32_t mt_flat_text(struct mt_flat *flat, const char *text)
{
    uint32_t size = (uint32_t)strlen(text);
    pad(flat, 4, (size_t)size + 1);
    push(flat, text, (size_t)size + 1);
    push(flat, &size, 4);
    return (uint32_t)flat->used;
}

uint32_t mt_flat_places(struct mt_flat *flat, const uint32_t *place, size_t n)
{
    uint32_t count = (uint32_t)n;
    pad(flat, 4, n * 4);
    while (n-- > 0)
        push_place(flat, place[n]);
    push(flat, &count, 4);
    return (uint32_t)flat->used;
}

void mt_flat_begin(struct mt_flat *flat)
{
    memset(flat->field, 0, sizeof flat->field);
    flat->begin = (uint32_t)flat->used;
}

void mt_flat_number(struct mt_flat *flat, unsigned field, uint64_t number, size_t size)
{
    pad(flat, size, 0);
    push(flat, &number, size);
    flat->field[field] = (uint32_t)flat->used;
}

void mt_flat_place(struct mt_flat *flat, unsigned field, uint32_t place)
{
    if (!place)
        return;
    push_place(flat, place);
    flat->field[field] = (uint32_t)flat->used;
}

uint32_t mt_flat_end(struct mt_flat *flat)
{
    uint16_t vtable[2 + MT_FLAT_FIELDS];
    pad(flat, 4, 0);
    push(flat, NULL, 4);
    uint32_t table = (uint32_t)flat->used;
    vtable[0] = sizeof vtable;
    vtable[1] = (uint16_t)(table - flat->begin);
    for (unsigned i = 0; i < MT_FLAT_FIELDS; i++)
        vtable[2 + i] = flat->field[i] ? (uint16_t)(table - flat->field[i]) : 0;
    push(flat, vtable, sizeof vtable);
    int32_t distance = (int32_t)(flat->used - table);
    if (!flat->has_no_memory)
        memcpy(flat->bytes + flat->capacity - table, &distance, 4);
    return table;
}

const unsigned char *mt_flat_finish(struct mt_flat *flat, uint32_t root, size_t *size)
{
    pad(flat, 8, 4);
    push_place(flat, root);
    *size = flat->used;
    return flat->has_no_memory ? NULL : flat->bytes + flat->capacity - flat->used;
}

void mt_flat_reset(struct mt_flat *flat)
{
    flat->used = 0;
}

void mt_flat_clear(struct mt_flat *flat)
{
    free(flat->bytes);
    memset(flat, 0, sizeof *flat);
}
