/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read several traces into digests, in parallel on the available processors.
 */
#ifndef MT_READ_ALL_H
#define MT_READ_ALL_H

#include "compare/diff/diff.h"

struct mt_reading {
    const char *path;
    const struct mt_question *question;
    struct mt_digest *digest;
    int rc; /* as of mt_digest_query */
    struct mt_trace_error error;
};

/* Read them all, even if some fail. */
void mt_read_all(struct mt_reading *readings, size_t n);

/* Read runs again at their highest moment in a phase, if known, and attach the digests. Skip runs
 * whose peak it is. Return how many were read, or -ENOMEM. */
int mt_read_in_phase(struct mt_digest *digests, size_t n, enum mt_phase phase,
                     const struct mt_question *question);

/* Make a difference as mt_diff_make does, reading the runs again if mt_diff_wants_phase requires
 * it. The old runs come first. */
int mt_diff_runs(struct mt_diff *diff, struct mt_digest *runs, size_t n_old, size_t n_new,
                 const struct mt_question *question);

#endif
