/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of several traces, which are read at the same time as far as there are processors.
 */
#ifndef MT_READ_ALL_H
#define MT_READ_ALL_H

#include "nightly/diff/diff.h"

struct mt_reading {
    const char *path;
    const struct mt_question *question;
    struct mt_digest *digest;
    int rc; /* as of mt_digest_ask */
    struct mt_trace_error error;
};

/* Reads them all, whatever happens to each. */
void mt_read_all(struct mt_reading *readings, size_t n);

/* Reads runs once more at the moment when most was allocated in a phase, as far as that can be
 * known, and attaches what is found; not those whose peak it is. How many were read, or -ENOMEM. */
int mt_read_in_phase(struct mt_digest *digests, size_t n, enum mt_phase phase,
                     const struct mt_question *question);

/* As mt_diff_make; where runs tell more at their highest moments in a phase, after reading them once
 * more. The old runs come first. */
int mt_diff_runs(struct mt_diff *diff, struct mt_digest *runs, size_t n_old, size_t n_new,
                 const struct mt_question *question);

#endif
