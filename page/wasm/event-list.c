/* SPDX-License-Identifier: Apache-2.0 */
#include "event-list.h"
#include "analyzer/model/user-line.h"
#include "analyzer/print/json.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mt_event_list_note(struct mt_event_list *list, const struct mt_replay *replay,
                       const struct mt_event *event)
{
    if (event->kind != MT_OOM)
        return 0;
    return MT_APPEND(list->failed, list->failed_capacity, list->n_failed,
                     (struct mt_failed){.time_ns = event->time_ns,
                                        .size = event->OOM.size,
                                        .event = (uint32_t)replay->events,
                                        .stack = event->stack,
                                        .slot = (uint8_t)mt_device_slot(event->device)})
               ? -ENOMEM
               : 0;
}

static int add(struct mt_event_list *list, struct mt_listed one)
{
    return MT_APPEND(list->listed, list->listed_capacity, list->n_listed, one) ? -ENOMEM : 0;
}

static int add_area(struct mt_event_list *list, const struct mt_areas *areas, size_t number)
{
    const struct mt_area *area = &areas->area[number];
    bool is_segment = area->shown || !areas->has_segments[area->slot];
    struct mt_listed one = {.number = (uint32_t)number,
                            .event = area->made,
                            .time_ns = area->made_ns,
                            .kind = is_segment ? MT_LISTED_SEGMENT : MT_LISTED_CUDA};
    int rc = add(list, one);
    if (rc || area->ended == MT_AREA_STAYS)
        return rc;
    one.kind++;
    one.event = area->ended;
    one.time_ns = area->ended_ns;
    return add(list, one);
}

static int by_event(const void *left, const void *right)
{
    const struct mt_listed *a = left, *b = right;
    return a->event != b->event ? (a->event > b->event) - (a->event < b->event)
                                : (a->number > b->number) - (a->number < b->number);
}

int mt_event_list_make(struct mt_event_list *list, const struct mt_areas *areas,
                       const struct mt_lives *lives, unsigned slot)
{
    int rc = 0;
    if (list->is_made && list->slot == slot)
        return 0;
    list->n_listed = 0;
    list->slot = slot;
    for (size_t i = 0; i < areas->n && !rc; i++)
        if (areas->area[i].slot == slot)
            rc = add_area(list, areas, i);
    for (size_t i = 0; i < list->n_failed && !rc; i++)
        if (list->failed[i].slot == slot)
            rc = add(list, (struct mt_listed){.number = (uint32_t)i,
                                              .event = list->failed[i].event,
                                              .time_ns = list->failed[i].time_ns,
                                              .kind = MT_LISTED_OOM});
    if (list->n_listed)
        qsort(list->listed, list->n_listed, sizeof *list->listed, by_event);
    for (size_t i = 0; i < list->n_listed; i++)
        list->listed[i].moment =
            (uint32_t)mt_moment_at_event(&lives->course[slot], list->listed[i].event);
    list->is_made = !rc;
    return rc;
}

size_t mt_event_list_row(const struct mt_event_list *list, size_t moment)
{
    return moment + MT_LEADING(k, list->n_listed, list->listed[k].moment <= moment);
}

static json_t *moment_json(const struct mt_lives *lives, const struct mt_replay *replay,
                           unsigned slot, size_t moment)
{
    const struct mt_course *course = &lives->course[slot];
    const struct mt_life *life = mt_life_at(lives, course, moment);
    char line[MT_LIFE_TEXT];
    mt_life_line(replay->definitions, life, line);
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:o}", "kind",
                     mt_is_end(course, moment) ? MT_LISTED_FREE : MT_LISTED_ALLOC, "event",
                     (json_int_t)course->event[moment], "time_ns",
                     (json_int_t)mt_moment_ns(lives, course, moment), "moment", (json_int_t)moment,
                     "bytes", (json_int_t)life->size, "allocated",
                     (json_int_t)mt_total_before(lives, course, moment + 1), "life",
                     (json_int_t)(course->what[moment] >> 1), "category", (int)life->category,
                     "found", life->is_found, "line", mt_json_text(line));
}

static json_t *listed_json(const struct mt_event_list *list, const struct mt_areas *areas,
                           const struct mt_lives *lives, const struct mt_replay *replay,
                           const struct mt_listed *one)
{
    const struct mt_course *course = &lives->course[list->slot];
    const struct mt_failed *failed = one->kind == MT_LISTED_OOM ? &list->failed[one->number] : NULL;
    char line[MT_LIFE_TEXT] = "";
    uint32_t stack = failed ? mt_request_line(replay->definitions, failed->stack, 0) : 0;
    if (!failed)
        mt_area_purpose(line, areas, lives, replay, one->number);
    else if (stack)
        mt_place_text(line, sizeof line, replay->definitions, stack);
    return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:b, s:o}", "kind", (int)one->kind,
                     "event", (json_int_t)one->event, "time_ns", (json_int_t)one->time_ns, "moment",
                     (json_int_t)one->moment, "bytes",
                     (json_int_t)(failed ? failed->size : areas->area[one->number].size),
                     "allocated", (json_int_t)mt_total_before(lives, course, one->moment), "life",
                     -1, "category", -1, "found", true, "line", mt_json_text(line));
}

json_t *mt_event_list_rows(const struct mt_event_list *list, const struct mt_areas *areas,
                           const struct mt_lives *lives, const struct mt_replay *replay,
                           size_t first, size_t n)
{
    size_t all = lives->course[list->slot].n + list->n_listed;
    json_t *array = json_array();
    /* a listed row is at its moment plus the listed ones before it */
    size_t next = MT_LEADING(k, list->n_listed, list->listed[k].moment + k < first);
    for (size_t row = first; row < all && row - first < n; row++) {
        bool is_listed = next < list->n_listed && list->listed[next].moment + next == row;
        json_array_append_new(
            array, is_listed ? listed_json(list, areas, lives, replay, &list->listed[next])
                             : moment_json(lives, replay, list->slot, row - next));
        next += is_listed;
    }
    return array;
}

void mt_event_list_clear(struct mt_event_list *list)
{
    free(list->failed);
    free(list->listed);
    memset(list, 0, sizeof *list);
}
