/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Iterations that the program names by ranges (NVTX, memtap.phase): "iteration", "train_step",
 * "request 12" or the like. They count instead of what memtap finds by itself.
 */
#ifndef MT_NAMED_TURNS_H
#define MT_NAMED_TURNS_H

#include "analyzer/model/ranges.h"
#include "turns.h"

#define MT_NAMED_MOST 8u /* names; others are left out */

struct mt_named_turns {
    struct mt_named_turn {
        uint32_t name, domain; /* string ids, of the first one */
        uint32_t thread, path; /* that opened it; path: the open one's, 0: none is open */
        uint64_t *begin;       /* events */
        size_t n, capacity;
        uint64_t end; /* the last event that closed one */
    } named[MT_NAMED_MOST];
    size_t n;
    uint32_t boundaries; /* how many were opened and closed */
};

void mt_named_turns_clear(struct mt_named_turns *turns);

/* Note an event of a range, which ranges has handled. 0 or -ENOMEM. */
int mt_named_turns_note(struct mt_named_turns *turns, const struct mt_ranges *ranges,
                        const struct mt_definitions *definitions, const struct mt_event *event,
                        uint64_t number);

/* Set *turns, of zeros, to those of the name that was opened first and at least twice, if there is
 * one: it is around the others. 0 or -ENOMEM. */
int mt_named_turns_find(struct mt_turns *turns, const struct mt_named_turns *named,
                        const struct mt_definitions *definitions);

/* Write a range's name without its number: "step" of "step 12" and "step#12". */
void mt_turn_name(char *out, size_t size, const char *name);

#endif
