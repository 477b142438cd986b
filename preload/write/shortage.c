/* SPDX-License-Identifier: Apache-2.0 */
#include "shortage.h"
#include "preload/host/message.h"
#include "writer-state.h"

#include <errno.h>
#include <string.h>

#define RETRY_NS 2000000000u

bool mt_writer_is_shortage(int rc)
{
    return mt_writer.live && (rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG);
}

void mt_writer_begin_shortage(int rc)
{
    if (mt_writer.shortage.error)
        return;
    if (!mt_writer.shortage.was_reported)
        mt_message("cannot write %.600s: %s; events are dropped and counted until there "
                   "is room",
                   mt_output_shown(&mt_writer.output), strerror(-rc));
    mt_writer.shortage.was_reported = true;
    mt_writer.shortage.error = -rc;
    mt_writer.shortage.tried_ns = 0;
    mt_output_cut(&mt_writer.output, mt_writer.committed.trace_size);
}

/* Count the events of a shortage. For readers of the tail they are like those of a thread without a
 * slot: lost with the process, unless a LOST event reports them. */
void mt_writer_count_shortage(void)
{
    uint64_t events = mt_writer.so_far.passed - mt_writer.at_commit.passed;
    mt_writer.shortage.events += events;
    mt_writer.so_far.events = mt_writer.at_commit.events;
    mt_writer.so_far.lost = mt_writer.at_commit.lost;
    mt_tail_count_slotless(events);
}

bool mt_writer_may_try(void)
{
    uint64_t now = mt_now();
    if (mt_writer.shortage.tried_ns && now - mt_writer.shortage.tried_ns < RETRY_NS &&
        !mt_writer.stop)
        return false;
    if (mt_writer.shortage.tried_ns) /* there was no room for it either */
        mt_output_remove_older(&mt_writer.output);
    mt_writer.shortage.tried_ns = now;
    return true;
}

void mt_writer_forget_shortage(void)
{
    if (!mt_writer.shortage.events)
        return;
    mt_writer.order.slotless -= mt_writer.shortage.events;
    mt_writer.so_far.lost -= mt_writer.shortage.events;
    mt_writer.so_far.events--;
}

void mt_writer_end_shortage(void)
{
    mt_writer.shortage.error = 0;
    mt_writer.shortage.events = 0;
    mt_writer.at_commit = mt_writer.so_far;
}
