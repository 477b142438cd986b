/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"
#include "analyzer/support/search.h"
#include "analyzer/trace/definitions.h"
#include "tools/memtap/input/followed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_EVENTS 1000000u /* between two polls of the keyboard */
#define ITERATIONS_TIMED 10u
#define SILENT_NS 5000000000u

void mt_top_begin(struct mt_top *watch, const char *path)
{
    *watch = (struct mt_top){.path = path, .device = -1};
    watch->watcher = (struct mt_watcher){mt_past_saw, &watch->past};
}

static void clear_picture(struct mt_top_picture *picture)
{
    mt_inspection_clear(&picture->live);
    free(picture->rows);
    *picture = (struct mt_top_picture){0};
}

static void forget_mark(struct mt_top *watch)
{
    mt_sites_clear(&watch->mark);
    watch->has_mark = false;
}

void mt_top_end(struct mt_top *watch)
{
    clear_picture(&watch->picture);
    forget_mark(watch);
    mt_past_clear(&watch->past);
    mt_follow_close(watch->follow);
    watch->follow = NULL;
}

static void fail(struct mt_top *watch, const struct mt_trace_error *fault)
{
    watch->fault = *fault;
    watch->has_failed = watch->is_over = true;
}

static int open_trace(struct mt_top *watch)
{
    struct mt_trace_error fault;
    const struct mt_question question = {.watcher = &watch->watcher, .folds_spans = true};
    int rc = mt_follow_open(&watch->follow, watch->path, &question, &fault);
    if (rc && !mt_trace_is_to_come(rc, &fault))
        fail(watch, &fault);
    return rc;
}

int mt_top_read(struct mt_top *watch)
{
    struct mt_trace_error fault;
    if (watch->is_over || (!watch->follow && open_trace(watch)))
        return 0;
    int rc = mt_follow_poll(watch->follow, MOST_EVENTS, &fault);
    if (mt_follow_restarts(watch->follow) != watch->restarts) {
        watch->restarts = mt_follow_restarts(watch->follow);
        watch->n_stacks = 0;
        forget_mark(watch); /* its ids are invalid now */
        clear_picture(&watch->picture);
    }
    watch->has_news |= rc != 0 || mt_follow_is_over(watch->follow);
    if (rc < 0)
        fail(watch, &fault);
    else if (mt_follow_is_over(watch->follow))
        watch->is_over = true;
    return rc > 0;
}

/* Return the slot to show: the chosen one of the used devices, or the fullest. */
static unsigned choose_slot(struct mt_top *watch, const struct mt_replay *replay)
{
    unsigned best = 0;
    uint64_t most = 0;
    int n = 0;
    watch->picture.devices = 0;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        if (!mt_inspect_is_used(replay, slot))
            continue;
        watch->picture.devices++;
        watch->picture.is_there = true;
        uint64_t bytes =
            mt_replay_level(replay, mt_replay_is_of_cuda(replay, slot))->now[slot].allocated;
        bool is_chosen = watch->device >= 0 ? watch->device == n : bytes >= most;
        if (is_chosen || watch->picture.devices == 1) {
            best = slot;
            most = bytes;
        }
        n++;
    }
    return best;
}

/* Load the definitions. The rules need facts about all frames, so find them again when new stacks
 * are defined. */
static int load_definitions(struct mt_top *watch, const struct mt_replay *replay)
{
    uint32_t n = mt_definitions_stack_limit(replay->definitions);
    if (n == watch->n_stacks)
        return 0;
    watch->n_stacks = n;
    return mt_definitions_finish(replay->definitions);
}

/* Return the mean seconds of the last iterations. */
static double time_iterations(const struct mt_spans *spans)
{
    uint64_t last_ns = 0, first_ns = 0;
    unsigned n = 0;
    for (size_t i = spans->n; i-- > 1 && n <= ITERATIONS_TIMED;) {
        const struct mt_span *span = &spans->span[i];
        if (!span->iteration || span->iteration == span[-1].iteration)
            continue;
        first_ns = span->time_ns;
        last_ns = n++ ? last_ns : span->time_ns;
    }
    return n > 1 ? (double)(last_ns - first_ns) / 1e9 / (n - 1) : 0;
}

/* Return how long a live process has not written anything, by this machine's clock. */
static uint64_t silence(const struct mt_top *watch, const struct mt_replay *replay)
{
    struct timespec now;
    const char *start = mt_info(replay->definitions, "start_realtime_ns");
    uint64_t last = (start ? strtoull(start, NULL, 10) : 0) + replay->time_ns;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return start && !watch->is_over && now_ns > last + SILENT_NS ? now_ns - last : 0;
}

static void load_run(struct mt_top *watch, struct mt_replay *replay)
{
    struct mt_top_picture *picture = &watch->picture;
    struct mt_spans *spans = &replay->spans[picture->slot];
    const struct mt_sample *sample = &replay->samples.last[picture->slot];
    mt_spans_number(spans, 1);
    picture->iterations = spans->iterations;
    picture->growth = mt_spans_growth(spans);
    picture->iteration_s = time_iterations(spans);
    picture->allocations_s = mt_past_rate(&watch->past);
    picture->phase = (enum mt_phase)replay->tracker.phases.now.phase;
    picture->time_ns = replay->time_ns;
    picture->silent_ns = silence(watch, replay);
    if (!sample->time_ns)
        return;
    /* Since the sample, CUDA has handed out more, or less. */
    uint64_t now = replay->cuda.heap.total[picture->slot].bytes,
             room = sample->free + sample->cuda_bytes;
    picture->card = sample->total;
    picture->card_free = room > now ? room - now : 0;
    picture->others = sample->others;
}

/* Sum a mark's bytes. Its sites have the frame as their stack: several stacks may reach one line.
 */
static uint64_t marked_bytes(const struct mt_top *watch, const struct mt_site *site, uint32_t frame)
{
    for (size_t i = 0; i < watch->mark.n; i++) {
        const struct mt_site *mark = &watch->mark.site[i];
        if (mark->category == site->category && mark->stack == frame &&
            mark->node_name == site->node_name && mark->name == site->name)
            return mark->bytes;
    }
    return 0;
}

static uint32_t frame_of(const struct mt_top *watch, const struct mt_site *site)
{
    return mt_stack(mt_follow_replay(watch->follow)->definitions, site->stack)->frame;
}

static int compare_rows(const void *left, const void *right, void *order)
{
    const struct mt_top_row *a = left, *b = right;
    enum mt_top_order by = *(const enum mt_top_order *)order;
    int first = by == MT_TOP_BY_BLOCKS   ? MT_FALLING(site.blocks)
                : by == MT_TOP_BY_CHANGE ? MT_FALLING(change)
                                         : 0;
    return first ?: MT_FALLING(site.bytes) ?: MT_RISING(site.stack);
}

#define ROWS_KEPT 1000u /* more than anybody reads */

static int make_rows(struct mt_top *watch)
{
    struct mt_top_picture *picture = &watch->picture;
    const struct mt_sites *sites = &picture->live.sites; /* the largest first */
    size_t n = sites->n < ROWS_KEPT ? sites->n : ROWS_KEPT;
    picture->rows = calloc(n + 1, sizeof *picture->rows);
    if (!picture->rows)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct mt_site *site = &sites->site[i];
        picture->rows[i].site = *site;
        picture->rows[i].change =
            watch->has_mark
                ? (int64_t)(site->bytes - marked_bytes(watch, site, frame_of(watch, site)))
                : 0;
    }
    picture->n_rows = n;
    qsort_r(picture->rows, n, sizeof *picture->rows, compare_rows, &watch->order);
    return 0;
}

void mt_top_mark(struct mt_top *watch)
{
    const struct mt_sites *sites = &watch->picture.live.sites;
    size_t n = sites->n < ROWS_KEPT ? sites->n : ROWS_KEPT;
    forget_mark(watch);
    struct mt_site *copy = calloc(n + 1, sizeof *copy);
    if (!copy)
        return;
    for (size_t i = 0; i < n; i++) {
        copy[i] = sites->site[i];
        copy[i].stack = frame_of(watch, &copy[i]);
    }
    watch->mark = (struct mt_sites){copy, n};
    watch->has_mark = true;
}

int mt_top_poll(struct mt_top *watch)
{
    clear_picture(&watch->picture);
    watch->has_news = false;
    if (!watch->follow)
        return 0;
    struct mt_replay *replay = mt_follow_replay(watch->follow);
    watch->picture.slot = choose_slot(watch, replay);
    watch->picture.time_ns = replay->time_ns;
    if (!watch->picture.is_there)
        return 0;
    int rc = load_definitions(watch, replay);
    if (!rc)
        rc = mt_inspect_device(&watch->picture.live, replay, watch->picture.slot);
    if (!rc)
        rc = make_rows(watch);
    if (!rc)
        load_run(watch, replay);
    if (!rc && !watch->has_mark)
        mt_top_mark(watch);
    return rc;
}

const char *mt_top_info(const struct mt_top *watch, const char *key)
{
    const char *value =
        watch->follow ? mt_info(mt_follow_replay(watch->follow)->definitions, key) : NULL;
    return value ? value : "";
}

const char *mt_top_rank(const struct mt_top *watch)
{
    const char *rank =
        watch->follow ? mt_rank_text(mt_follow_replay(watch->follow)->definitions) : NULL;
    return rank ? rank : "";
}
