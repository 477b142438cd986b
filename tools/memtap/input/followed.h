/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of running programs, read as they grow until all have ended. */
#ifndef MT_FOLLOWED_H
#define MT_FOLLOWED_H

#include "analyzer/replay/follow.h"

#include <stdbool.h>

struct mt_followed {
    const char *path;         /* the caller's */
    struct mt_follow *follow; /* NULL: no trace yet */
    bool is_over;             /* ended, or invalid from here on */
    unsigned restarts;
    uint32_t n_stacks;
};

/* Return `n` traces, not read yet; NULL: no memory. */
struct mt_followed *mt_followed_create(char *const *paths, size_t n);
void mt_followed_destroy(struct mt_followed *traces, size_t n);

/* Read new events of all traces. Return whether all have ended. */
bool mt_followed_read(struct mt_followed *traces, size_t n, const struct mt_question *question);

/* Return whether an unreadable trace may still appear: it has no file or no header yet. */
bool mt_trace_is_to_come(int rc, const struct mt_trace_error *fault);

/* Prepare the definitions for rules, which need facts about all frames. Return 0 or -ENOMEM. */
int mt_followed_define(struct mt_followed *trace);

/* Wait until the next round for at most this long, noticing an end earlier. */
void mt_followed_wait(double seconds);

#endif
