/* SPDX-License-Identifier: Apache-2.0 */
#include "drain.h"
#include "blocks.h"
#include "cuda-blocks.h"
#include "device-watch.h"
#include "iterations.h"
#include "limits.h"
#include "preload/holders/holders.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "preload/record/guard.h"
#include "preload/record/recorder.h"
#include "preload/uses/used-blocks.h"
#include "writer-state.h"

#include <errno.h>

#define MOST_AT_ONCE 128u
#define MOST_SHORTAGES 3u /* whose live blocks are written */

/* --- the window of a light recording ------------------------------------------------------- */

/* Keep everything from here on: the live memory is unknown. */
static void keep_all(int rc)
{
    if (mt_writer.selection)
        mt_selection_give_up(mt_writer.selection, mt_writer_put);
    mt_writer_keep_all(rc);
}

static void end_window(bool is_last)
{
    int rc = mt_writer.selection
                 ? mt_selection_end(mt_writer.selection, mt_writer.live, is_last, mt_writer_put)
                 : 0;
    if (rc)
        keep_all(rc);
}

static void add_to_window(const struct mt_event *event)
{
    int rc = mt_selection_add(mt_writer.selection, event);
    if (rc == -EAGAIN) {
        end_window(false);
        rc = mt_writer.selection ? mt_selection_add(mt_writer.selection, event) : 0;
    }
    if (rc)
        keep_all(rc);
}

/* --- events --------------------------------------------------------------------------------- */

/* Update the live memory. */
static void follow(const struct mt_event *events, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && mt_writer.live && !rc; i++)
        rc = mt_live_event(mt_writer.live, &events[i]);
    if (rc)
        mt_writer_keep_all(rc);
}

static void count(const struct mt_event *events, size_t n, uint64_t kinds)
{
    mt_writer.seen += n;
    mt_writer.so_far.passed += n;
    for (size_t i = 0; kinds >> MT_LOST & 1 && i < n; i++)
        if (events[i].kind == MT_LOST) {
            mt_writer.so_far.passed += events[i].LOST.count - 1;
            mt_writer.so_far.lost += events[i].LOST.count;
        }
}

/* Write events. kinds has a bit for each of theirs. */
static void write_events(struct mt_event *events, size_t n, uint64_t kinds)
{
    size_t i = 0;
    if (!mt_writer_is_open())
        return; /* it has just been closed */
    n = mt_iterations_note(events, n);
    mt_watch_note(events, n, kinds);
    mt_limits_note(events, n, kinds, mt_writer.seen);
    count(events, n, kinds);
    while (i < n && mt_writer.selection)
        add_to_window(&events[i++]);
    follow(events + i, n - i);
    mt_writer_put_all(events + i, n - i);
}

/* --- uses of blocks: each block's in front of its free; those of live blocks when memory runs
 * out, when memtap save requests it, and at the end ------------------------------------------ */

static void write_some(struct mt_event *events, unsigned n)
{
    uint64_t kinds = 0;
    for (unsigned i = 0; i < n; i++)
        kinds |= 1ull << events[i].kind;
    if (n)
        write_events(events, n, kinds);
}

static void write_live_uses(uint64_t time_ns)
{
    mt_used_blocks_each(mt_writer.used, time_ns, write_some);
}

/* Write events, with the uses of blocks that end in front of their frees. */
static void write_with_uses(struct mt_event *events, size_t n)
{
    struct mt_event out[MOST_AT_ONCE + MT_USES_OF_BLOCK];
    unsigned n_out = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_hidden;
        bool is_shortage = events[i].kind == MT_OOM && mt_writer.shortages++ < MOST_SHORTAGES;
        n_out += mt_used_blocks_event(mt_writer.used, &events[i], out + n_out, &is_hidden);
        if (n_out >= MOST_AT_ONCE || is_shortage) {
            write_some(out, n_out);
            n_out = 0;
        }
        if (is_shortage)
            write_live_uses(events[i].time_ns);
        if (!is_hidden)
            out[n_out++] = events[i];
    }
    write_some(out, n_out);
}

/* --- the answer of a search for holders, taken before a drain and written after its events -----
 */

/* What paths may use of the room for all strings (intern.h): other names need it, too. */
#define MOST_TEXT (3u << 19)
#define MOST_PATHS (1u << 14)

static struct mt_holders_found found;
static bool has_found;
static uint32_t newest, n_paths;
static uint64_t text_used;

static uint32_t intern(const struct mt_holders_row *holder)
{
    if (n_paths >= MOST_PATHS || text_used >= MOST_TEXT)
        return 0;
    uint32_t id = mt_intern_string(found.answer->text + holder->text_at, holder->text_size);
    if (id > newest) {
        newest = id;
        n_paths++;
        text_used += holder->text_size;
    }
    return id;
}

static void take_holders(void)
{
    has_found = mt_writer_is_open() && mt_holders_take(&found);
    if (!has_found || !found.answer)
        return;
    struct mt_holders_row *holder = found.answer->holder;
    bool is_locked = mt_intern_lock();
    for (uint32_t i = 0; i < found.answer->n; i++) {
        holder[i].path = is_locked ? intern(&holder[i]) : 0;
        if (!holder[i].path && !found.result)
            found.result = MT_HOLDERS_MEMORY;
    }
    if (is_locked)
        mt_intern_unlock();
}

static void write_holders(void)
{
    if (!has_found)
        return;
    uint64_t begin_ns = found.begin_ns - mt_writer.start_ns;
    for (uint32_t i = 0; found.answer && i < found.answer->n; i++) {
        const struct mt_holders_row *holder = &found.answer->holder[i];
        write_events(&(struct mt_event){.time_ns = mt_writer.last_ns,
                                        .kind = MT_HOLDER,
                                        .device = (int16_t)holder->device,
                                        .HOLDER = {holder->address, holder->path, holder->root,
                                                   holder->view}},
                     1, 1ull << MT_HOLDER);
    }
    uint64_t age = mt_writer.last_ns > begin_ns ? mt_writer.last_ns - begin_ns : 0;
    write_events(&(struct mt_event){.time_ns = mt_writer.last_ns,
                                    .kind = MT_HOLDERS,
                                    .device = MT_NO_DEVICE,
                                    .HOLDERS = {found.moment, found.result,
                                                found.answer ? found.answer->objects : 0, age}},
                 1, 1ull << MT_HOLDERS);
    if (mt_settings.is_verbose && found.answer)
        mt_message("holders: %u blocks, %llu objects; the program waited %llu us for a child "
                   "process, which searched for %llu ms (CPU time: %llu ms)",
                   found.answer->n, (unsigned long long)found.answer->objects,
                   (unsigned long long)found.answer->pause_ns / 1000,
                   (unsigned long long)(found.answer->end_ns - found.begin_ns) / 1000000,
                   (unsigned long long)found.answer->cpu_ns / 1000000);
    mt_holders_give_back();
    has_found = false;
}

/* --- reading -------------------------------------------------------------------------------- */

/* Round the times as they are written. Return the kinds of the events. */
static uint64_t round_times(struct mt_event *events, size_t n)
{
    uint64_t kinds = 0, last_ns = mt_writer.last_ns;
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = events[i].time_ns;
        ns = ns > mt_writer.start_ns ? ns - mt_writer.start_ns : 0;
        last_ns = events[i].time_ns = mt_clock_round(ns, last_ns);
        kinds |= 1ull << events[i].kind;
    }
    mt_writer.last_ns = last_ns;
    return kinds;
}

/* Write what was collected. Everything read at once goes into one block, so when that is written,
 * what was read is in the file. */
static void write_collected(void)
{
    struct mt_event events[MOST_AT_ONCE];
    for (uint64_t left = mt_writer.most_events, n; left; left -= n) {
        uint64_t most = mt_encoder_room(mt_writer.encoder);
        most = most < MOST_AT_ONCE ? most : MOST_AT_ONCE;
        n = mt_order_read(&mt_writer.order, events, left < most ? left : most);
        if (!n)
            return;
        uint64_t kinds = round_times(events, n);
        if (kinds & MT_CUDA_BLOCK_KINDS)
            mt_cuda_blocks_note(events, n);
        if (MT_UNLIKELY(mt_writer.used != NULL))
            write_with_uses(events, n);
        else
            write_events(events, n, kinds);
    }
}

static void write_loss(uint32_t thread, uint64_t events)
{
    if (events)
        write_events(&(struct mt_event){.time_ns = mt_writer.last_ns,
                                        .thread = thread,
                                        .kind = MT_LOST,
                                        .device = MT_NO_DEVICE,
                                        .LOST = {events}},
                     1, 1ull << MT_LOST);
}

/* Write losses that an ended thread (at the end, any thread) could not report itself, and those of
 * threads that never had a ring. */
static void write_losses(bool is_last)
{
    uint64_t unclaimed = mt_recorder_collect_unclaimed();
    mt_writer.order.slotless += unclaimed;
    write_loss(0, unclaimed);
    for (size_t i = 0; i < mt_writer.order.n; i++) {
        struct mt_thread *thread = mt_writer.order.source[i].thread;
        if (!is_last && !atomic_load(&thread->is_over))
            continue;
        uint64_t lost = atomic_exchange(&thread->ring.lost, 0);
        mt_ring_share_losses(&thread->ring);
        mt_writer.order.slotless += thread->ring.is_slotless ? lost : 0;
        write_loss(thread->id, lost);
    }
}

/* --- memtap save and memtap stop send their requests through the tail: no signal, file or thread
 * of the host is involved ------------------------------------------------------------------- */

/* Accept a request before a drain, and answer it after the drain. Return whether there is a new
 * one. */
static bool accept_request(void)
{
    uint32_t iterations;
    bool wants_holders, wants_stop;
    if (!mt_writer_is_open() || mt_guard_has_lost() ||
        !mt_tail_accept_request(&iterations, &wants_holders, &wants_stop))
        return false;
    mt_writer.has_request = true;
    mt_writer.has_to_rest = wants_stop;
    if (mt_writer.selection)
        mt_selection_write_all(mt_writer.selection, mt_now() - mt_writer.start_ns, iterations);
    if (wants_holders)
        mt_holders_search(MT_HOLDERS_REQUESTED);
    return true;
}

static void answer_request(bool is_new)
{
    bool is_over = !mt_writer.selection || !mt_selection_writes_iterations(mt_writer.selection);
    if (!mt_writer.has_request || !(is_new || is_over) || !mt_writer_is_open() ||
        mt_holders_are_sought())
        return;
    mt_tail_answer(is_over);
    mt_writer.has_request = !is_over;
}

static void check_tail(void)
{
    int rc = mt_writer_is_open() ? mt_threads_check_tail() : 0;
    if (rc < 0)
        mt_writer_give_up(rc, "write");
    else if (rc)
        mt_message("another program wrote to %s" MT_TAIL_SUFFIX
                   "; continuing without that file, so a kill may lose the last 0.2 s",
                   mt_output_shown(&mt_writer.output));
}

void mt_writer_drain(bool is_last)
{
    if (mt_settings.has_thread) /* otherwise long times pass in between */
        mt_clock_adjust();
    check_tail();
    if (mt_writer_is_open() && mt_guard_has_lost())
        mt_writer_give_up(-EIO, "write");
    if (!mt_guard_has_lost())
        mt_tail_set_alive();
    bool is_requested = accept_request();
    uint64_t until_ns = mt_now();
    int rc = mt_writer_is_open() ? mt_order_collect(&mt_writer.order, is_last) : -ESTALE;
    if (rc && is_last && mt_writer_is_open())
        mt_writer_give_up(rc, "finish"); /* what was not collected is in the tail */
    if (rc)
        return; /* try again next time */
    if (mt_writer.selection && !is_last && !is_requested && mt_tail_exists())
        mt_order_hold_back(&mt_writer.order); /* so that few blocks are live at the window's end */
    take_holders();
    mt_writer_define();
    mt_writer.is_gathering = mt_writer.selection != NULL;
    write_collected();
    mt_cuda_blocks_tell(until_ns);
    write_losses(is_last);
    if (mt_writer.used && (is_last || is_requested))
        write_live_uses(mt_writer.last_ns);
    write_holders();
    end_window(is_last);
    mt_writer.is_gathering = false;
    mt_writer_end_block();
    if (mt_writer_is_open())
        mt_writer_turn_segment();
    if (mt_writer_is_open())
        mt_order_release(&mt_writer.order);
    answer_request(is_requested);
    mt_watch_request_samples();
}
