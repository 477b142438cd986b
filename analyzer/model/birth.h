/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many blocks have in common is kept once: what the program was doing when they were made, and
 * when they ended. Both live as long as somebody uses them.
 */
#ifndef MT_BIRTH_H
#define MT_BIRTH_H

#include "phase.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When blocks ended: those that did between two changes of phase. */
struct mt_deaths {
    struct mt_death {
        struct mt_when when;
        uint32_t users; /* blocks */
        uint32_t next;  /* of unused ones; 0: none */
    } * death; /* the first is zeros: no end */
    size_t n, capacity;
    uint32_t latest, first_free; /* 0: none */
};

/* Of blocks that one thread made, one after the other, in the same phase. */
struct mt_birth {
    struct mt_deaths *deaths; /* which theirs are among */
    uint64_t time_ns, event;  /* of the first: a block has the distance to it */
    struct mt_when when;
    uint32_t thread;
    uint32_t step;         /* the optimizer step they were made in; 0: none */
    uint32_t steps_before; /* optimizer steps that had ended by then */
    uint32_t users;        /* blocks, and who may need it for the next one */
};

/* Of a block that nobody made: zeros. */
extern struct mt_birth mt_no_birth;

/* One user has it. NULL: no memory. */
struct mt_birth *mt_birth_new(const struct mt_birth *like);
void mt_birth_free(struct mt_birth *birth);

static inline void mt_birth_drop(struct mt_birth *birth)
{
    if (birth && !--birth->users)
        mt_birth_free(birth);
}

/* Whether a block that is made at this time, by this event, has a distance that can be kept. */
static inline bool mt_birth_is_near(const struct mt_birth *birth, uint64_t time_ns, uint64_t event)
{
    return ((time_ns - birth->time_ns) | (event - birth->event)) <= UINT32_MAX;
}

/* Deaths of zeros are none. */
void mt_deaths_clear(struct mt_deaths *deaths);

/* A place for another end than the latest. 0 or -ENOMEM. */
int mt_deaths_add(struct mt_deaths *deaths, const struct mt_when *when);

/* *place is that of an end now, which has one user more. 0 or -ENOMEM. */
static inline int mt_deaths_take(struct mt_deaths *deaths, const struct mt_when *when, uint32_t *place)
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
