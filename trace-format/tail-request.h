/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What another process than the author of a trace writes into its tail (FORMAT.md, "The tail").
 * It asks to tell everything for a while: a light recording otherwise leaves blocks out that come
 * and go. Or it notes how the author ended: its parent after waitpid ("signal 9"), or the process
 * that killed it ("signal 9 from 4711").
 */
#ifndef MT_TRACE_TAIL_REQUEST_H
#define MT_TRACE_TAIL_REQUEST_H

#include <stdint.h>
#include <sys/types.h>

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

#define MT_ANY_TRACE 0 /* as a trace's id */

/* Note an end in the tail of this trace and process. Return 0; -EINVAL: it is another trace's;
 * -ESRCH: another process's; -EBUSY: an end is noted already; or another negative errno. Safe in a
 * signal handler. */
int mt_tail_end_put(int fd, uint64_t trace_id, pid_t pid, const char *how);

#endif
