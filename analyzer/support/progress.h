/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of reading a trace: after a second, a line on stderr if that is a terminal. It
 * disappears at the end. */
#ifndef MT_PROGRESS_H
#define MT_PROGRESS_H

#include <stdbool.h>

#include "trace-format/reader.h"

struct mt_progress {
    bool is_wanted, is_shown;
    uint64_t next_ns; /* when the line is due: CLOCK_MONOTONIC */
};

/* Return CLOCK_MONOTONIC. */
uint64_t mt_now_ns(void);

void mt_progress_begin(struct mt_progress *progress);
void mt_progress_reach(struct mt_progress *progress, const struct mt_batch *batch);
void mt_progress_end(struct mt_progress *progress);

#endif
