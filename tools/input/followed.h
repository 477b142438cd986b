/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of running programs, which are read as they grow until all have ended. */
#ifndef MT_FOLLOWED_H
#define MT_FOLLOWED_H

#include "analyzer/replay/follow.h"

#include <stdbool.h>

struct mt_followed {
    const char *path;         /* the caller's */
    struct mt_follow *follow; /* NULL: no trace yet */
    bool is_over;             /* it has ended, or is invalid from here on */
    unsigned restarts;
    uint32_t n_stacks;
};

/* Return `n` traces of these paths, of which nothing is read yet; NULL: no memory. */
struct mt_followed *mt_followed_create(char *const *paths, size_t n);
void mt_followed_destroy(struct mt_followed *traces, size_t n);

/* Read what is new of all. Return whether all are over. */
bool mt_followed_read(struct mt_followed *traces, size_t n, const struct mt_question *question);

/* Return whether a trace that cannot be opened may still appear: no file, or no header yet. */
bool mt_trace_is_to_come(int rc, const struct mt_trace_error *fault);

/* Prepare the definitions for rules, which need facts about all frames. 0 or -ENOMEM. */
int mt_followed_define(struct mt_followed *trace);

/* Wait until the next round: so long at most, or less, so that an end is noticed soon. */
void mt_followed_wait(double seconds);

#endif
