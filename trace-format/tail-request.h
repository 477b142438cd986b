/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other processes write into the tail of a trace (FORMAT.md, "The tail"): a request to record
 * in full for a while, where a light recording otherwise drops short-lived blocks; or how the
 * author ended, from its parent after waitpid ("signal 9") or from the process that killed it
 * ("signal 9 from 4711").
 */
#ifndef MT_TRACE_TAIL_REQUEST_H
#define MT_TRACE_TAIL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MT_MOST_REQUESTED 10000u /* iterations */

struct mt_tail_request {
    int fd; /* of the tail, -1 if there is none */
    uint32_t number;
};

enum mt_tail_answer {
    MT_ANSWER_NONE,     /* not yet */
    MT_ANSWER_ACCEPTED, /* the window so far is in the trace; the iterations continue */
    MT_ANSWER_FINISHED, /* everything requested is in the trace */
};

/* Request that what has been recorded is written, and the next iterations (0: none) in full, and
 * the holders of the moment (what keeps each block alive) or the end of the recording, if they are
 * wanted. Return 0; -ENOENT if
 * the trace has no tail; -EBUSY if another request is being made; -EPROTO if the tail's version is
 * unknown; or another negative errno. */
int mt_tail_request_make(struct mt_tail_request *request, const char *trace, uint32_t iterations,
                         bool wants_holders, bool wants_stop);

/* Return the answer so far. */
enum mt_tail_answer mt_tail_request_answer(const struct mt_tail_request *request);

/* Let other processes make requests. The request itself stays in effect. */
void mt_tail_request_close(struct mt_tail_request *request);

#define MT_ANY_TRACE 0 /* as a trace's id */

/* Note an end in the tail of this trace and process. Return 0; -EINVAL if the tail is of another
 * trace; -ESRCH if it is of another process; -EBUSY if an end is noted already; or another negative
 * errno. Safe in a signal handler. */
int mt_tail_end_put(int fd, uint64_t trace_id, pid_t pid, const char *how);

#endif
