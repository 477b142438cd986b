/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables indexed by a trace's ids: strings, frames, stacks, threads. A trace may contain any number
 * as an id, and an undefined id counts as unknown (FORMAT.md). So every table by id is accessed
 * through mt_by_id: entry 0 stands for 0, "unknown or none", and for all ids beyond the table.
 *
 * * struct mt_by_id groups = {0}; if (mt_by_id_make(&groups,
 * mt_definitions_frame_limit(definitions), sizeof(uint32_t))) return -ENOMEM; *(uint32_t
 * *)mt_by_id(&groups, frame) = 1; mt_by_id_clear(&groups);
 */
#ifndef MT_BY_ID_H
#define MT_BY_ID_H

#include "grow.h"

#include <stdbool.h>

/* Programs have fewer threads; only damaged traces have higher ids of them. */
#define MT_THREAD_LIMIT 65536u

struct mt_by_id {
    unsigned char *bytes;
    size_t n, capacity; /* places */
    size_t size;        /* of a place, bytes */
};

/* Allocate zeroed entries of `size` bytes for the ids below the limit, at least one. Return 0, or
 * -ENOMEM with nothing changed. */
static inline int mt_by_id_make(struct mt_by_id *by_id, size_t limit, size_t size)
{
    size_t n = limit ? limit : 1;
    if (mt_grow(&by_id->bytes, &by_id->capacity, n, size))
        return -ENOMEM;
    by_id->size = size;
    by_id->n = by_id->n < n ? n : by_id->n;
    return 0;
}

/* Return whether an id has its own entry. */
static inline bool mt_by_id_has(const struct mt_by_id *by_id, uint32_t id)
{
    return id && id < by_id->n;
}

/* Return the entry of an id in an allocated table. */
static inline void *mt_by_id(const struct mt_by_id *by_id, uint32_t id)
{
    return by_id->bytes + (id < by_id->n ? id : 0) * by_id->size;
}

/* Return a thread's id; 0 (unknown) for one that is too high. */
static inline uint32_t mt_thread_id(uint32_t thread)
{
    return thread < MT_THREAD_LIMIT ? thread : 0;
}

/* Return the entry of an id, allocating it if the id is below the limit. NULL: no memory. */
static inline void *mt_by_id_reach(struct mt_by_id *by_id, uint32_t id, size_t limit, size_t size)
{
    id = id < limit ? id : 0;
    return id >= by_id->n && mt_by_id_make(by_id, (size_t)id + 1, size) ? NULL
                                                                        : mt_by_id(by_id, id);
}

static inline void mt_by_id_clear(struct mt_by_id *by_id)
{
    free(by_id->bytes);
    *by_id = (struct mt_by_id){0};
}

#endif
