/* SPDX-License-Identifier: Apache-2.0 */
/* What Nsight Systems recorded of the same run, as tracks next to memtap's: streams and threads
 * below their processes. */
#include "analyzer/support/text.h"
#include "join-nsight.h"
#include "perfetto-join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_LANES 256u

/* Slices on one track in Perfetto must nest. Slices that overlap otherwise need another track. */
struct lane {
    uint64_t track;
    int64_t *end; /* of what is open, outermost first */
    size_t n, capacity;
};

/* A stream, or one kind of a thread's activity. */
struct place {
    uint64_t track; /* 0: none yet; also a process's own, without lanes */
    struct lane *lane;
    size_t lanes, capacity;
};

struct joining {
    struct mt_perfetto *to;
    struct mt_nsight *nsight;
    struct mt_texts keys;
    struct place *place; /* by key */
    size_t capacity;
    uint64_t near_ns, base_ns;
    bool has_base, is_far;
    uint64_t events;
};

static struct place *place_of(struct joining *joining, const char *key)
{
    uint32_t at;
    if (mt_texts_add(&joining->keys, key, &at) ||
        MT_GROW(joining->place, joining->capacity, (size_t)at)) {
        joining->to->rc = -ENOMEM;
        return NULL;
    }
    return &joining->place[at];
}

/* Return the track of "nsight: python 1234". */
static uint64_t process_track(struct joining *joining, uint64_t global)
{
    char key[64], name[400];
    snprintf(key, sizeof key, "p%" PRIu64, mt_nsight_process(global));
    struct place *place = place_of(joining, key);
    if (place && !place->track) {
        const char *known = mt_nsight_process_name(joining->nsight, global);
        snprintf(name, sizeof name, "nsight: %.300s %" PRIu32, *known ? known : "process",
                 mt_nsight_pid(global));
        place->track = mt_perfetto_track(joining->to, 0, name);
    }
    return place ? place->track : 0;
}

/* Return the place of "device 0 stream 7" and "python 1235", below it CUDA's calls and the ranges.
 */
static struct place *row_place(struct joining *joining, const struct mt_nsight_row *row)
{
    static const char *const sort[] = {[MT_NSIGHT_CALL] = "CUDA calls",
                                       [MT_NSIGHT_RANGE] = "ranges",
                                       [MT_NSIGHT_SPAN] = "started ranges",
                                       [MT_NSIGHT_MARK] = "ranges"};
    bool is_on_device = row->kind < MT_NSIGHT_CALL;
    char key[96], name[400], device[MT_SIZE_TEXT];
    if (is_on_device)
        snprintf(key, sizeof key, "s%" PRIu64 "/%" PRId64 "/%" PRId64,
                 mt_nsight_process(row->global), row->device, row->stream);
    else
        snprintf(key, sizeof key, "%s%" PRIu64, sort[row->kind],
                 row->kind == MT_NSIGHT_SPAN ? mt_nsight_process(row->global) : row->global);
    struct place *place = place_of(joining, key);
    if (!place || place->track)
        return place;
    uint32_t at = (uint32_t)(place - joining->place);
    uint64_t parent = process_track(joining, row->global);
    if (is_on_device) {
        snprintf(name, sizeof name, "%s stream %" PRId64,
                 mt_device_text(device, row->device < INT16_MAX ? (int)row->device : -1),
                 row->stream);
    } else if (row->kind != MT_NSIGHT_SPAN) {
        snprintf(key, sizeof key, "t%" PRIu64, row->global);
        struct place *thread = place_of(joining, key);
        const char *known = mt_nsight_thread_name(joining->nsight, row->global);
        snprintf(name, sizeof name, "%.300s %" PRIu32, *known ? known : "thread",
                 mt_nsight_tid(row->global));
        if (thread && !thread->track)
            thread->track = mt_perfetto_track(joining->to, parent, name);
        parent = thread ? thread->track : 0;
    }
    if (joining->to->rc)
        return NULL;
    place = &joining->place[at]; /* they may have moved */
    place->track = mt_perfetto_track(joining->to, parent, is_on_device ? name : sort[row->kind]);
    return place;
}

/* Return whether a slice begins after the open one, or lies within it. */
static bool fits(struct lane *lane, int64_t start, int64_t end)
{
    while (lane->n && lane->end[lane->n - 1] <= start)
        lane->n--;
    return !lane->n || lane->end[lane->n - 1] >= end;
}

/* Return the track for a slice, or 0 if too many overlap. The first lane is the place's own
 * track. */
static uint64_t lane_track(struct joining *joining, struct place *place, const char *name,
                           int64_t start, int64_t end)
{
    size_t i = 0;
    while (i < place->lanes && !fits(&place->lane[i], start, end))
        i++;
    if (i == MOST_LANES)
        return 0;
    if (MT_GROW(place->lane, place->capacity, i))
        goto no_memory;
    struct lane *lane = &place->lane[i];
    if (i == place->lanes) {
        lane->track = i ? mt_perfetto_track(joining->to, place->track, name) : place->track;
        place->lanes++;
    }
    if (MT_GROW(lane->end, lane->capacity, lane->n))
        goto no_memory;
    lane->end[lane->n++] = end;
    return lane->track;
no_memory:
    joining->to->rc = -ENOMEM;
    return 0;
}

static void add_fields(struct mt_perfetto *to, const struct mt_nsight_row *row)
{
    for (unsigned i = 0; i < row->fields; i++)
        if (row->field[i].text)
            mt_perfetto_add_text(to, row->field[i].name, row->field[i].text);
        else
            mt_perfetto_add_number(to, row->field[i].name, row->field[i].number);
}

/* Find the base of the times: since the session began, or unix time (nsys export --ts-
 * normalize). */
static bool find_base(struct joining *joining, uint64_t start)
{
    uint64_t session = mt_nsight_start(joining->nsight);
    if (!joining->has_base && session && mt_perfetto_is_near(joining->near_ns, session + start))
        joining->base_ns = session;
    joining->has_base = true;
    return mt_perfetto_is_near(joining->near_ns, joining->base_ns + start);
}

static int take(void *data, const struct mt_nsight_row *row)
{
    struct joining *joining = data;
    struct mt_perfetto *to = joining->to;
    bool is_mark = row->kind == MT_NSIGHT_MARK;
    if (!find_base(joining, (uint64_t)row->start_ns)) {
        joining->is_far = true;
        return -EINVAL;
    }
    struct place *place = row_place(joining, row);
    if (!place)
        return to->rc;
    uint64_t begin = joining->base_ns + (uint64_t)row->start_ns, track = 0;
    if (!is_mark)
        track = lane_track(joining, place, "at the same time", row->start_ns,
                           row->has_end ? row->end_ns : INT64_MAX);
    mt_perfetto_begin_event(to, track ? MT_PERFETTO_BEGIN : MT_PERFETTO_INSTANT,
                            track ? track : place->track, row->name);
    add_fields(to, row);
    mt_perfetto_end_event(to, begin);
    if (track && row->has_end)
        mt_perfetto_event(to, MT_PERFETTO_END, track, NULL,
                          joining->base_ns + (uint64_t)row->end_ns);
    joining->events++;
    return to->rc ? to->rc : to->sink->rc;
}

static void clear(struct joining *joining)
{
    for (size_t i = 0; i < joining->capacity; i++) {
        for (size_t k = 0; k < joining->place[i].lanes; k++)
            free(joining->place[i].lane[k].end);
        free(joining->place[i].lane);
    }
    free(joining->place);
    mt_texts_clear(&joining->keys);
    mt_nsight_close(joining->nsight);
}

int mt_perfetto_join_nsight(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                            struct mt_export_error *error)
{
    struct joining joining = {.to = to, .near_ns = near_ns};
    char *text = error->text;
    int rc = mt_nsight_open(&joining.nsight, path, text, sizeof error->text);
    if (!rc)
        rc = mt_nsight_read(joining.nsight, take, &joining);
    if (joining.is_far)
        snprintf(text, sizeof error->text, "%s",
                 !near_ns || mt_nsight_start(joining.nsight)
                     ? mt_perfetto_why_far(near_ns)
                     : "its start time is missing; export it with a newer nsys, or with nsys "
                       "export --ts-normalize=true");
    if (!rc && !joining.events) {
        snprintf(text, sizeof error->text,
                 "it contains no kernels, copies, CUDA calls or ranges; use nsys profile "
                 "--trace=cuda,nvtx");
        rc = -EINVAL;
    }
    if (*text)
        error->path = path;
    clear(&joining);
    return rc;
}
