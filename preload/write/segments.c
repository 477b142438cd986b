/* SPDX-License-Identifier: Apache-2.0 */
/* Create the files of a bounded trace: each can be read without earlier ones. */
#include "segments.h"
#include "blocks.h"
#include "device-watch.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "trace-format/block.h"
#include "writer-state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mt_writer_keep_all(int rc)
{
    mt_message("cannot create a new segment of %s: %s; keeping all events from here on",
               mt_output_shown(&mt_writer.output), strerror(-rc));
    mt_live_destroy(mt_writer.live);
    mt_selection_destroy(mt_writer.selection);
    mt_writer.live = NULL;
    mt_writer.selection = NULL;
}

/* Return a new trace id. Processes of one machine do not start two traces at the same time with one
 * id. */
static uint64_t any_id(void)
{
    return mt_clock(CLOCK_REALTIME) ^ (uint64_t)getpid() << 44;
}

void mt_writer_append_header(uint64_t older_id)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    uint64_t of_older = older_id ? mt_writer.chain.events - mt_writer.chain.of_older : 0;
    mt_writer.mark.trace_id = any_id();
    mt_encode_live_header(header, mt_writer.mark.trace_id, older_id, &mt_writer.output.author);
    mt_writer_append(header, sizeof header);
    mt_writer.chain = mt_chain_begin(mt_writer.mark.trace_id, of_older, MT_FORMAT_VERSION);
    mt_encoder_follow(mt_writer.encoder, &mt_writer.chain);
}

static int write_carried(const struct mt_event *event)
{
    int rc = mt_encoder_carried(mt_writer.encoder, event);
    mt_writer.part.here.carried++;
    if (!rc && mt_encoder_full(mt_writer.encoder))
        mt_writer_end_block();
    return rc ? rc : mt_writer.part.rc;
}

static void define_dropped(void)
{
    char text[96];
    int n = snprintf(text, sizeof text, "dropped=%llu events before %llu.%03llu s",
                     (unsigned long long)mt_writer.part.older.events,
                     (unsigned long long)(mt_writer.part.older.time_ns / 1000000000u),
                     (unsigned long long)(mt_writer.part.older.time_ns / 1000000u % 1000u));
    if (mt_writer.part.older.events)
        mt_writer_define_info(NULL, text, (size_t)n);
}

/* Write all definitions and the live memory. */
static void write_past(void)
{
    mt_writer.info->collect(mt_writer.start_ns, mt_writer_define_info, NULL);
    define_dropped();
    mt_writer_define_again();
    int rc = mt_live_each(mt_writer.live, write_carried);
    if (rc)
        mt_writer_fail(rc);
    mt_writer_end_block();
}

/* Write the loss during a shortage into the new segment. */
static void write_shortage(void)
{
    struct mt_event loss = {.time_ns = mt_writer.last_ns,
                            .kind = MT_LOST,
                            .device = MT_NO_DEVICE,
                            .LOST = {mt_writer.shortage.events}};
    if (!mt_writer.shortage.events)
        return;
    mt_writer.order.slotless += mt_writer.shortage.events;
    mt_writer.so_far.lost += mt_writer.shortage.events;
    mt_writer.so_far.events++;
    int rc = mt_encoder_event(mt_writer.encoder, &loss);
    if (rc)
        mt_writer_fail(rc);
    mt_writer_end_block();
}

/* Switch to the new segment. At any moment, a reader finds everything recorded in one of the two.
 */
static void replace(struct mt_output *old)
{
    mt_writer.mark.trace_size = mt_writer.output.size;
    unsigned index = mt_tail_mark(&mt_writer.mark);
    mt_order_note(&mt_writer.order, index);
    mt_writer.part.rc = mt_output_replace(old, &mt_writer.output);
    if (mt_writer.part.rc)
        return;
    mt_writer.output = *old;
    mt_tail_turn(&mt_writer.mark);
    mt_order_note(&mt_writer.order, !index);
    mt_writer.committed = mt_writer.mark;
    mt_writer.committed_chain = mt_writer.chain;
}

void mt_writer_turn_segment(void)
{
    static struct mt_output old; /* large */
    struct mt_tail_mark mark = mt_writer.mark;
    struct mt_chain chain = mt_writer.chain;
    struct mt_intern_position known = mt_writer.defined.known;
    struct mt_trace_parts before = mt_writer.part;
    bool is_large = mt_writer.output.size - before.here.base >= mt_settings.keep_bytes;
    if (!mt_writer.live || (mt_writer.shortage.error ? !mt_writer_may_try() : !is_large))
        return;
    old = mt_writer.output;
    mt_writer.part.is_beginning = true;
    mt_writer.part.rc = mt_output_open_next(&old, &mt_writer.output);
    mt_writer.part.older = before.here;
    mt_writer.part.here =
        (struct mt_trace_part){.events = mt_writer.so_far.events, .time_ns = mt_writer.last_ns};
    mt_writer_append_header(mark.trace_id);
    write_past();
    write_shortage();
    mt_writer.part.here.base = mt_writer.output.size;
    if (!mt_writer.part.rc)
        replace(&old);
    mt_writer.part.is_beginning = false;
    if (!mt_writer.part.rc) {
        mt_watch_forget();
        mt_writer_end_shortage();
        return;
    }
    mt_output_discard(&mt_writer.output);
    mt_writer.output = old;
    mt_writer.mark = mark;
    mt_writer.chain = chain;
    mt_writer.defined.known = known;
    int rc = mt_writer.part.rc;
    mt_writer.part = before;
    mt_writer_forget_shortage();
    if (mt_writer_is_shortage(rc))
        mt_writer_begin_shortage(rc);
    else
        mt_writer_keep_all(rc);
    if (mt_writer.shortage.error && !mt_writer.live)
        mt_writer_fail(-mt_writer.shortage.error); /* no segment will come */
}
