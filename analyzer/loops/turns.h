/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's loop, and its turns: from its visits (visits.h) and from the loops that are around
 * a line in the source. Where the source is not known, a line before the last one begins the next
 * turn.
 */
#ifndef MT_TURNS_H
#define MT_TURNS_H

#include "visits.h"

#define MT_LOOPS_MOST 64u /* in a program; more are left out */

/* A loop's turns: the events that begin them, in order. */
struct mt_turns {
    const struct mt_frame *frame;  /* of a line in it; NULL: there is no loop */
    const struct mt_frame *caller; /* if that is in a library: the program's line that calls it */
    uint32_t stack;                /* of frame */
    uint32_t line;                 /* that begins it; a line in it if the source is not known */
    uint32_t thread;               /* that runs it */
    uint32_t threads;              /* that run it; 0: only this one, */
    bool differ;                   /* and not all as often: this one is the busiest */
    bool are_steps;                /* an optimizer's, in the loop (trainers.h) */
    bool in_forward;               /* modules are called in it */
    uint32_t named;                /* string id of ranges that are the turns (named.h); 0: none */
    char name[64];                 /* theirs, without numbers */
    uint64_t *begin;
    size_t n, capacity;
    uint64_t end;    /* of the last turn, if something comes after it: its first event; else 0 */
    uint32_t *first; /* the turns, from 0, in which the loop started again */
    size_t n_first, first_capacity;
};

struct mt_turns_range {
    uint64_t first, last; /* events */
    bool is_broken_off;   /* the program ended there before it was done */
};

/* Find the loop that the program's iterations are turns of, among the visits in a range: the
 * outermost one. Of several, the one that the program was in when it was broken off, one that calls
 * modules, and then the one that allocates the most. 0 or -ENOMEM. *turns is to be zeros; call
 * mt_turns_clear in any case. */
int mt_turns_find(struct mt_turns *turns, const struct mt_visits *visits,
                  const struct mt_definitions *definitions, const struct mt_turns_range *range);

/* Let the loop be the one that has the line of a stack. */
void mt_turns_name(struct mt_turns *turns, const struct mt_definitions *definitions,
                   uint32_t stack);

/* Find in the same way, among all visits, the innermost loop that contains nearly all iterations of
 * a program that trains, which begin with these events, if each of its turns has several of them
 * (GANs step twice per turn). Otherwise find the innermost one that has one of them a turn, or else
 * the outermost one, without its turns (n is 0). turns->thread: the program's one that trains; 0:
 * unknown. */
int mt_turns_find_around(struct mt_turns *turns, const struct mt_visits *visits,
                         const struct mt_definitions *definitions, const uint64_t *event, size_t n);
void mt_turns_clear(struct mt_turns *turns);

/* Return the turn that an event is in, from 1; 0: before the first one. */
uint32_t mt_turns_at(const struct mt_turns *turns, uint64_t event);

/* Let iterations be turns: cut a device's spans where these begin and end. 0 or -ENOMEM. */
int mt_spans_turn(struct mt_spans *spans, const struct mt_turns *turns);

/* Note of spans that are cut so how their iterations are counted. */
void mt_spans_count_turns(struct mt_spans *spans, const struct mt_turns *turns);

#endif
