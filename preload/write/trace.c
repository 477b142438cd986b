/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning and the end of the trace. */
#include "trace.h"
#include "blocks.h"
#include "device-watch.h"
#include "drain.h"
#include "iterations.h"
#include "limits.h"
#include "preload/holders/holders.h"
#include "preload/host/message.h"
#include "preload/host/settings.h"
#include "preload/record/switch.h"
#include "preload/uses/used-blocks.h"
#include "writer-state.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mt_writer_sign_manifest(uint64_t cpu_ns)
{
    char text[PATH_MAX + 24], absolute[PATH_MAX] = "", cost[24] = "";
    if (!*mt_settings.manifest)
        return false;
    const char *path = !mt_writer_is_open()                        ? ""
                       : realpath(mt_writer.output.path, absolute) ? absolute
                                                                   : mt_writer.output.path;
    if (cpu_ns)
        snprintf(cost, sizeof cost, "%llu ", (unsigned long long)cpu_ns);
    snprintf(text, sizeof text, "%s%s", cost, path);
    return mt_manifest_sign(mt_settings.manifest, text);
}

static void open_trace(uint32_t iterations)
{
    int rc = mt_output_open(&mt_writer.output);
    if (rc) {
        mt_writer_give_up(rc, "create");
        return;
    }
    mt_writer_append_header(0);
    mt_tail_open(mt_writer.output.path, mt_writer.start_ns);
    mt_writer_commit();
    rc = mt_threads_resume(); /* those of an earlier recording */
    if (rc)
        mt_writer_give_up(rc, "create");
    mt_iterations_start(iterations);
    if (mt_settings.keep_bytes)
        mt_writer.live = mt_live_create();
    if (mt_settings.has_uses)
        mt_writer.used = mt_used_blocks_create();
    if (mt_settings.is_light && mt_writer.live)
        mt_writer.selection = mt_selection_create();
}

static void write_head(void)
{
    mt_writer.info->collect(mt_writer.start_ns, mt_writer_define_info, NULL);
    mt_writer_end_block();
}

static void say_where(void)
{
    const char *path = mt_output_shown(&mt_writer.output);
    unsigned long long n = mt_writer.so_far.events, lost = mt_writer.so_far.lost;
    char events[64];
    enum mt_file_place place = mt_own_file_place(&mt_writer.output.file, mt_writer.output.path);
    snprintf(events, sizeof events, lost ? "%llu events (and %llu lost)" : "%llu events", n, lost);
    if (place == MT_FILE_OUT_OF_REACH)
        mt_message("%s in %s, which this process can no longer reach: it changed its root or "
                   "its user",
                   events, path);
    else if (place != MT_FILE_HERE)
        mt_message("%s recorded, but %s was %s meanwhile", events, path,
                   place == MT_FILE_RENAMED ? "renamed" : "removed");
    else if (!mt_settings.is_quiet)
        mt_message("%s in %s; run: memtap report %s", events, path, path);
}

static void close_trace(void)
{
    const unsigned char *bytes;
    size_t size;
    struct mt_end end = {mt_writer.last_ns,
                         mt_writer.so_far.events - mt_writer.part.older.events +
                             mt_writer.part.older.carried,
                         mt_writer.so_far.lost};
    if (mt_writer_is_open() && mt_writer.shortage.error)
        mt_writer_give_up(-mt_writer.shortage.error, "finish");
    if (!mt_writer_is_open())
        return; /* the tail has the rest */
    bool is_reported = mt_writer_sign_manifest(mt_writer_cpu_ns());
    mt_writer.info->collect_late(mt_writer_define_late_info, NULL);
    mt_writer_end_block();
    if (!mt_encoder_end(mt_writer.encoder, &end, &bytes, &size))
        mt_writer_append(bytes, size);
    if (mt_writer_is_open())
        mt_tail_remove();
    if (mt_writer_is_open() && !is_reported) /* else memtap run says it */
        say_where();
    mt_output_close(&mt_writer.output);
}

uint64_t mt_writer_cpu_ns(void)
{
    return mt_writer.cpu_ns + mt_clock(CLOCK_THREAD_CPUTIME_ID) - mt_writer.cpu_begin_ns;
}

void mt_writer_begin_trace(void)
{
    struct mt_definition definition;
    bool has_past = mt_intern_read(&(struct mt_intern_position){0}, &definition);
    struct mt_switch_request request = mt_switch_take();
    mt_writer.rest_ns = request.seconds * UINT64_C(1000000000);
    open_trace(request.iterations);
    mt_writer_sign_manifest(0); /* before the program continues, because it may end */
    if (mt_writer_is_open() && has_past) {
        write_head();
        mt_writer_define(); /* what an earlier recording defined is not in the new tail */
    }
    mt_switch_answer(mt_writer_is_open() ? mt_writer.output.path : "");
    mt_writer_set(&mt_writer.is_open);
    if (mt_writer_is_open() && !has_past)
        write_head();
}

void mt_writer_forget(void)
{
    if (mt_threads_rest())
        mt_writer_give_up(-ENOMEM, "finish");
    mt_tail_reset();
    mt_encoder_destroy(mt_writer.encoder);
    mt_live_destroy(mt_writer.live);
    mt_selection_destroy(mt_writer.selection);
    mt_used_blocks_destroy(mt_writer.used);
    free(mt_writer.cuda_blocks);
    free(mt_writer.order.source);
    free(mt_writer.order.thread);
    free(mt_writer.order.next);
    free(mt_writer.defined.threads);
    mt_iterations_end();
    mt_limits_reset();
    memset((char *)&mt_writer + offsetof(struct mt_writer, output), 0,
           sizeof mt_writer - offsetof(struct mt_writer, output));
    mt_writer.output.file.fd = -1;
}

void mt_writer_end_trace(void)
{
    if (mt_is_resting()) /* else the process ends */
        mt_threads_await_hooks();
    mt_writer_drain(false);
    mt_watch_finish();
    for (unsigned i = 0; i < MT_HOLDERS_SEARCHES && mt_holders_await(); i++)
        mt_writer_drain(false);
    mt_writer_drain(true);
    close_trace();
}
