/* SPDX-License-Identifier: Apache-2.0 */
/* The disk is full: a bounded trace resumes when there is room again. What is live then is known,
 * so it starts a new segment; what happened meanwhile is counted as lost. */
#ifndef MT_WRITE_SHORTAGE_H
#define MT_WRITE_SHORTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_shortage {
    int error;         /* errno while there is no room and nothing is written; else 0 */
    uint64_t events;   /* meanwhile */
    uint64_t tried_ns; /* last attempt to create a segment meanwhile */
    bool was_reported;
};

/* Return whether an error means that a bounded trace has no room: continue without writing and
 * count the events until a segment can be created. Then: begin; count what was read since the last
 * commit. */
bool mt_writer_is_shortage(int rc);
void mt_writer_begin_shortage(int rc);
void mt_writer_count_shortage(void);

/* Return whether it is time to try a segment; end the shortage with it. */
bool mt_writer_may_try(void);
void mt_writer_end_shortage(void);

/* Withdraw the loss of a shortage that was to be in a segment. */
void mt_writer_forget_shortage(void);

#endif
