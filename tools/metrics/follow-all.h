/* SPDX-License-Identifier: Apache-2.0 */
/* Follow traces until all have ended. */
#ifndef MT_METRICS_FOLLOW_ALL_H
#define MT_METRICS_FOLLOW_ALL_H

#include <stdbool.h>

#include "take.h"

struct mt_followed {
    const char *path;         /* the caller's */
    struct mt_follow *follow; /* NULL: no trace yet */
    bool is_over;             /* it has ended, or is invalid from here on */
    unsigned restarts;
    uint32_t n_stacks;
};

/* Read what is new of all. Return whether all are over. */
bool mt_follow_all(struct mt_followed *traces, size_t n, const struct mt_user_rules *rules);

void mt_follow_all_end(struct mt_followed *traces, size_t n);

#endif
