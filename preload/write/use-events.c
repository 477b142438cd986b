/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of blocks, as events: each block's in front of its free; those of live blocks when memory
 * runs out, when memtap save requests it, and at the end. */
#include "preload/uses/used-blocks.h"
#include "writer-parts.h"

#define MOST_SHORTAGES 3u /* whose live blocks are written */
#define MOST_AT_ONCE 128u

static mt_write_events *pass_on;

static void write_some(struct mt_event *events, unsigned n)
{
    uint64_t kinds = 0;
    for (unsigned i = 0; i < n; i++)
        kinds |= 1ull << events[i].kind;
    if (n)
        pass_on(events, n, kinds);
}

static void write_live(uint64_t time_ns)
{
    mt_used_blocks_each(mt_writer.used, time_ns, write_some);
}

void mt_use_events_write(struct mt_event *events, size_t n, mt_write_events *write)
{
    struct mt_event out[MOST_AT_ONCE + MT_USES_OF_BLOCK];
    unsigned n_out = 0;
    pass_on = write;
    for (size_t i = 0; i < n; i++) {
        bool is_hidden;
        bool is_shortage = events[i].kind == MT_OOM && mt_writer.shortages++ < MOST_SHORTAGES;
        n_out += mt_used_blocks_event(mt_writer.used, &events[i], out + n_out, &is_hidden);
        if (n_out >= MOST_AT_ONCE || is_shortage) {
            write_some(out, n_out);
            n_out = 0;
        }
        if (is_shortage)
            write_live(events[i].time_ns);
        if (!is_hidden)
            out[n_out++] = events[i];
    }
    write_some(out, n_out);
}

void mt_use_events_write_live(mt_write_events *write)
{
    pass_on = write;
    write_live(mt_writer.last_ns);
}
