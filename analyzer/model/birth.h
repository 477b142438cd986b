/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared data of blocks: the program's state at their allocation and at their end. Both are
 * reference-counted.
 */
#ifndef MT_BIRTH_H
#define MT_BIRTH_H

#include "trace-format/meaning/phase.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends of blocks, one for all blocks that ended between two changes of phase. */
struct mt_deaths {
    struct mt_death {
        struct mt_when when;
        uint32_t users; /* blocks */
        uint32_t next;  /* next in the free list; 0: none */
    } *death;           /* entry 0 is zeroed: no end */
    size_t n, capacity;
    uint32_t latest, first_free; /* 0: none */
};

/* The shared birth of blocks that one thread allocated in a row in the same phase. */
struct mt_birth {
    struct mt_deaths *deaths; /* with these blocks' ends */
    uint64_t time_ns, event;  /* the first block's; blocks store their distance to it */
    struct mt_when when;
    uint32_t thread;
    uint32_t step;         /* the optimizer step in which they were allocated; 0: none */
    uint32_t steps_before; /* optimizer steps that had ended by then */
    uint32_t users;        /* blocks, and holders that may use it for the next block */
};

/* The birth of a block without an allocation: zeroed. */
extern struct mt_birth mt_no_birth;

/* Create a birth with one user, the caller. NULL: no memory. */
struct mt_birth *mt_birth_new(const struct mt_birth *like);
void mt_birth_free(struct mt_birth *birth);

static inline void mt_birth_drop(struct mt_birth *birth)
{
    if (birth && !--birth->users)
        mt_birth_free(birth);
}

/* Return whether a block with this time and event is near enough for its distance to be stored. */
static inline bool mt_birth_is_near(const struct mt_birth *birth, uint64_t time_ns, uint64_t event)
{
    return ((time_ns - birth->time_ns) | (event - birth->event)) <= UINT32_MAX;
}

/* Clear deaths; those of zeros are empty. */
void mt_deaths_clear(struct mt_deaths *deaths);

/* Add an end. 0 or -ENOMEM. */
int mt_deaths_add(struct mt_deaths *deaths, const struct mt_when *when);

/* Set *place to the current end, and add a user. Return 0 or -ENOMEM. */
static inline int mt_deaths_take(struct mt_deaths *deaths, const struct mt_when *when,
                                 uint32_t *place)
{
    if ((!deaths->latest || deaths->death[deaths->latest].when.epoch != when->epoch) &&
        mt_deaths_add(deaths, when))
        return -ENOMEM;
    *place = deaths->latest;
    deaths->death[deaths->latest].users++;
    return 0;
}

static inline void mt_deaths_give(struct mt_deaths *deaths, uint32_t place)
{
    if (--deaths->death[place].users || place == deaths->latest)
        return;
    deaths->death[place].next = deaths->first_free;
    deaths->first_free = place;
}

#endif
