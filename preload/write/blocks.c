/* SPDX-License-Identifier: Apache-2.0 */
/* The trace's blocks: bytes in the file, and what the tail can drop since then. */
#include "blocks.h"
#include "preload/host/message.h"
#include "preload/record/guard.h"
#include "preload/record/recorder.h"
#include "writer-state.h"

#include <errno.h>
#include <string.h>

void mt_writer_give_up(int rc, const char *doing)
{
    const char *why = mt_guard_has_lost() ? "its tail was truncated, or the disk failed"
                      : rc == -ESTALE     ? "the program closed memtap's file"
                      : rc == -EUCLEAN    ? "another program truncated it or wrote to it"
                      : rc == -EAGAIN     ? "a thread of the program is stopped inside memtap"
                      : rc == -EISDIR     ? "it is a directory, a device or a pipe; give a file"
                      : rc == -ENOTUNIQ   ? "the file exists and is not a memtap trace"
                                          : strerror(-rc);
    mt_message("cannot %s %.600s: %s; recording stopped, the program continues", doing,
               mt_output_shown(&mt_writer.output), why);
    mt_output_close(&mt_writer.output);
    atomic_store(&mt_state, MT_OVER);
    mt_tail_note_end(MT_TAIL_STOPPED, why);
}

void mt_writer_fail(int rc)
{
    if (!mt_writer.part.is_beginning && mt_writer_is_shortage(rc))
        mt_writer_begin_shortage(rc);
    else if (!mt_writer.part.is_beginning)
        mt_writer_give_up(rc, "write");
    else if (!mt_writer.part.rc)
        mt_writer.part.rc = rc;
}

void mt_writer_append(const void *bytes, size_t size)
{
    if (!mt_writer_is_open() || !size || mt_writer.part.rc)
        return;
    if (mt_writer.shortage.error && !mt_writer.part.is_beginning)
        return; /* counted, but not written */
    /* What was read from lost pages may be anything. */
    int rc = mt_guard_has_lost() ? -EIO : mt_output_append(&mt_writer.output, bytes, size);
    if (rc)
        mt_writer_fail(rc);
}

void mt_writer_commit(void)
{
    mt_writer.mark.trace_size = mt_writer.output.size;
    if (mt_writer.shortage.error) {
        mt_writer_count_shortage();
        mt_writer.chain = mt_writer.committed_chain;
    } else {
        mt_writer.committed = mt_writer.mark;
        mt_writer.committed_chain = mt_writer.chain;
    }
    unsigned index = mt_tail_mark(&mt_writer.committed);
    mt_order_note(&mt_writer.order, index);
    mt_tail_turn(&mt_writer.committed);
    mt_order_note(&mt_writer.order, !index);
    mt_writer.at_commit = mt_writer.so_far;
    mt_order_free_read(&mt_writer.order);
}

void mt_writer_end_block(void)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_finish(mt_writer.encoder, &bytes, &size);
    if (rc)
        mt_writer_fail(rc);
    else
        mt_writer_append(bytes, size);
    if (mt_writer_is_open() && !mt_writer.part.is_beginning && !mt_writer.is_gathering)
        mt_writer_commit();
}

static void check(int rc)
{
    if (rc)
        mt_writer_give_up(rc, "write");
    if (mt_encoder_full(mt_writer.encoder))
        mt_writer_end_block();
}

void mt_writer_put_all(struct mt_event *events, size_t n)
{
    for (size_t some; n && mt_writer_is_open(); events += some, n -= some) {
        size_t room = mt_encoder_room(mt_writer.encoder);
        some = n < room ? n : room;
        mt_writer.so_far.events += some;
        check(mt_encoder_events(mt_writer.encoder, events, some));
    }
}

int mt_writer_put(const struct mt_event *event)
{
    if (!mt_writer_is_open())
        return 0; /* it has just been closed */
    mt_writer.so_far.events++;
    check(mt_encoder_event(mt_writer.encoder, event));
    return 0;
}
