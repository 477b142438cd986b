/* SPDX-License-Identifier: Apache-2.0 */
/* The disk is full: a bounded trace resumes when there is room again. What is live then is known,
 * so it starts a new segment; what happened meanwhile is counted as lost. */
#include "preload/host/message.h"
#include "writer-parts.h"

#include <errno.h>
#include <string.h>

#define RETRY_NS 2000000000u

bool mt_writer_is_shortage(int rc)
{
    return mt_writer.live && (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG);
}

void mt_writer_begin_shortage(int rc)
{
    if (mt_writer.is_short)
        return;
    if (!mt_writer.has_said_short)
        mt_message("cannot write %.600s: %s; events are dropped and counted until there "
                   "is room",
                   mt_output_shown(&mt_writer.output), strerror(-rc));
    mt_writer.has_said_short = true;
    mt_writer.is_short = -rc;
    mt_writer.tried_ns = 0;
    mt_output_cut(&mt_writer.output, mt_writer.committed.trace_size);
}

/* Count the events of a shortage. For readers of the tail they are like those of a thread without a
 * slot: lost with the process, unless a LOST event reports them. */
void mt_writer_count_shortage(void)
{
    uint64_t events = mt_writer.so_far.passed - mt_writer.at_commit.passed;
    mt_writer.unwritten += events;
    mt_writer.so_far.events = mt_writer.at_commit.events;
    mt_writer.so_far.lost = mt_writer.at_commit.lost;
    mt_tail_count_slotless(events);
}

bool mt_writer_may_try(void)
{
    uint64_t now = mt_now();
    if (mt_writer.tried_ns && now - mt_writer.tried_ns < RETRY_NS && !mt_writer.stop)
        return false;
    if (mt_writer.tried_ns) /* there was no room for it either */
        mt_output_remove_older(&mt_writer.output);
    mt_writer.tried_ns = now;
    return true;
}

void mt_writer_forget_shortage(void)
{
    if (!mt_writer.unwritten)
        return;
    mt_writer.order.slotless -= mt_writer.unwritten;
    mt_writer.so_far.lost -= mt_writer.unwritten;
    mt_writer.so_far.events--;
}

void mt_writer_end_shortage(void)
{
    mt_writer.is_short = 0;
    mt_writer.unwritten = 0;
    mt_writer.at_commit = mt_writer.so_far;
}
