/* SPDX-License-Identifier: Apache-2.0 */
/* Ask the process that writes a trace to tell everything for a while, by its tail (FORMAT.md, "The
 * tail"): a light recording otherwise leaves blocks out that come and go. */
#ifndef MT_TRACE_TAIL_REQUEST_H
#define MT_TRACE_TAIL_REQUEST_H

#include <stdint.h>

#define MT_MOST_REQUESTED 10000u /* iterations */

struct mt_tail_request {
    int fd; /* of the tail; -1: none */
    uint32_t number;
};

enum mt_tail_answer {
    MT_ANSWER_NONE,     /* not yet */
    MT_ANSWER_TAKEN,    /* what was recorded before is told; the iterations go on */
    MT_ANSWER_FINISHED, /* all is told */
};

/* Make a request: tell what has been recorded, and the next iterations (0: none) whole. Return 0;
 * -ENOENT: the trace has no tail; -EBUSY: another request is being made; -EPROTO: the tail is of an
 * unknown version; another negative errno. */
int mt_tail_request_make(struct mt_tail_request *request, const char *trace, uint32_t iterations);

/* Return the answer so far. */
enum mt_tail_answer mt_tail_request_answer(const struct mt_tail_request *request);

/* Let others make one: the request itself stands. */
void mt_tail_request_close(struct mt_tail_request *request);

#endif
