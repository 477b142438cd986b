/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that the page makes for a trace. One trace is open at a time, in one thread.
 */
#include "analyzer/print/page.h"
#include "analyzer/findings/job.h"
#include "analyzer/report/report.h"
#include "analyzer/support/grow.h"
#include "areas.h"
#include "call-sites.h"
#include "course.h"
#include "event-list.h"
#include "export.h"
#include "found.h"
#include "groups.h"
#include "held-tree.h"
#include "idle-times.h"
#include "life-facts.h"
#include "named-ranges.h"
#include "strips.h"
#include "who.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct mt_analysis analysis;
    struct mt_held_at_oom at_oom;
    struct mt_lives lives;
    struct mt_idle_times idle;
    struct mt_strips strips;
    struct mt_areas areas;
    struct mt_map map;
    struct mt_named_ranges ranges;
    struct mt_event_list events;
    struct mt_watcher saw;
    char *text;
    double *numbers;
    size_t numbers_capacity;
    bool is_open;
    bool is_needed; /* charts and lists have only what is needed */
} page;

EXPORT("allocate") void *mt_web_allocate(size_t bytes)
{
    return malloc(bytes);
}

EXPORT("release") void mt_web_release(void *bytes)
{
    free(bytes);
}

static void close_trace(void)
{
    if (page.is_open)
        mt_analysis_destroy(&page.analysis);
    mt_held_at_oom_clear(&page.at_oom);
    mt_lives_clear(&page.lives);
    mt_idle_times_clear(&page.idle);
    mt_strips_clear(&page.strips);
    mt_areas_clear(&page.areas);
    mt_map_clear(&page.map);
    mt_named_ranges_clear(&page.ranges);
    mt_event_list_clear(&page.events);
    page.is_open = false;
}

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    (void)data;
    int rc = mt_lives_note(&page.lives, replay, event);
    if (!rc)
        rc = mt_areas_note(&page.areas, replay, event);
    if (!rc)
        rc = mt_event_list_note(&page.events, replay, event);
    return rc ? rc : mt_named_ranges_note(&page.ranges, replay, event);
}

/* Return 0 or a negative errno. `fault` says why, unless it is empty. */
EXPORT("open") int mt_web_open(const char *path)
{
    struct mt_question question = {0};
    close_trace();
    page.at_oom.path = strdup(path);
    mt_lives_query(&page.lives, &question);
    page.saw = (struct mt_watcher){.saw = saw};
    question.watcher = &page.saw;
    page.is_open = true;
    int rc = mt_analysis_create(&page.analysis, path, &question);
    if (!rc)
        rc = mt_lives_order(&page.lives, &page.analysis.replay);
    if (!rc) {
        mt_lives_set_verdicts(&page.lives, &page.analysis);
        mt_lives_sum(&page.lives);
        mt_named_ranges_end(&page.ranges, &page.analysis.replay);
        rc = mt_idle_times_find(&page.idle, &page.lives, &page.analysis);
    }
    return rc;
}

/* Return the fault where even an open trace becomes invalid; "": none. */
EXPORT("fault") const char *mt_web_fault(void)
{
    return page.analysis.fault.text;
}

/* Return the rank; -1: unknown. */
EXPORT("rank") double mt_web_rank(void)
{
    return (double)mt_rank(&page.analysis);
}

EXPORT("report") json_t *mt_web_report(void)
{
    return mt_report_object(&page.analysis);
}

/* Return a text from a writer, and free the last one. */
static const char *written(void (*write)(FILE *out))
{
    size_t size;
    free(page.text);
    page.text = NULL;
    FILE *out = open_memstream(&page.text, &size);
    if (!out)
        return "";
    write(out);
    fclose(out);
    return page.text ? page.text : "";
}

static void write_headline(FILE *out)
{
    mt_headline(&page.analysis, out);
}

static void write_report(FILE *out)
{
    const struct mt_style style = {.utf8 = 1};
    mt_report_text(&page.analysis, out, &style);
}

/* One sentence a line. */
EXPORT("headline") const char *mt_web_headline(void)
{
    return written(write_headline);
}

static void write_limits(FILE *out)
{
    const struct mt_style plain = {.utf8 = 1};
    const struct mt_page text = mt_page_of(&page.analysis, out, &plain);
    mt_page_limits(&text);
}

/* What the recording lacks: one sentence a line. */
EXPORT("limits") const char *mt_web_limits(void)
{
    return written(write_limits);
}

/* As memtap report prints it. */
EXPORT("report_text") const char *mt_web_report_text(void)
{
    return written(write_report);
}

EXPORT("categories") json_t *mt_web_categories(void)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < MT_CATEGORY_COUNT; i++)
        json_array_append_new(array, json_pack("{s:s, s:s}", "name", mt_categories[i].name, "label",
                                               mt_categories[i].label));
    return array;
}

/* Choose the timeline's groups (enum mt_group_kind). Return their names. */
EXPORT("stack_by") json_t *mt_web_stack_by(unsigned kind)
{
    return mt_groups_set(&page.lives, &page.analysis.replay, (enum mt_group_kind)kind);
}

static long peak_moment(unsigned slot)
{
    const struct mt_course *course = &page.lives.course[slot];
    struct mt_moments all = {0, (long)course->n};
    return mt_highest_moment(&page.lives, course, all);
}

EXPORT("devices") json_t *mt_web_devices(void)
{
    json_t *array = json_array();
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        const struct mt_course *course = &page.lives.course[slot];
        if (!course->n)
            continue;
        json_array_append_new(
            array, json_pack("{s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b}", "slot",
                             (int)slot, "device", (int)slot - 1, "moments", (json_int_t)course->n,
                             "begin_ns", (json_int_t)mt_moment_ns(&page.lives, course, 0), "end_ns",
                             (json_int_t)mt_moment_ns(&page.lives, course, course->n - 1), "peak",
                             (json_int_t)peak_moment(slot), "reserved",
                             (json_int_t)page.analysis.replay.reserved.most[slot].reserved,
                             "memory", (json_int_t)page.analysis.replay.samples.last[slot].total,
                             "held", mt_may_be_held(&page.analysis, slot), "uses",
                             page.lives.n_uses > 0, "idle", page.idle.n_changes[slot] > 0));
    }
    return array;
}

EXPORT("spans") json_t *mt_web_spans(unsigned slot)
{
    return mt_spans_json(&page.lives, &page.analysis.replay.spans[slot], slot);
}

/* Return page.numbers with room for so many; NULL: no memory. */
static double *room_for(size_t n)
{
    return MT_GROW(page.numbers, page.numbers_capacity, n) ? NULL : page.numbers;
}

#define RANGE_FIELDS 6u

/* Return the count of ranges that the program named; negative: no memory. `numbers` has for each:
 * begin and end as moments, begin and end in ns, depth, and the name's id (`string`). */
EXPORT("ranges") long mt_web_ranges(unsigned slot)
{
    const struct mt_course *course = &page.lives.course[slot];
    double *out = room_for(page.ranges.n * RANGE_FIELDS);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < page.ranges.n; i++, out += RANGE_FIELDS) {
        const struct mt_named_range *range = &page.ranges.range[i];
        out[0] = (double)mt_moment_at_event(course, range->from_event);
        out[1] = (double)mt_moment_at_event(course, range->to_event);
        out[2] = (double)range->from_ns;
        out[3] = (double)range->to_ns;
        out[4] = range->depth;
        out[5] = (double)range->name;
    }
    return (long)page.ranges.n;
}

EXPORT("numbers") const double *mt_web_numbers(void)
{
    return page.numbers;
}

/* Return the text of a trace's string. */
EXPORT("string") json_t *mt_web_string(double id)
{
    return mt_json_text(mt_string(page.analysis.replay.definitions, (uint32_t)id));
}

EXPORT("ooms") json_t *mt_web_ooms(void)
{
    return mt_ooms_json(&page.lives, &page.analysis.replay);
}

/* Let charts and lists have only what is needed at their moment from now on; false: all. */
EXPORT("needed") void mt_web_needed(bool is_on)
{
    page.is_needed = is_on != 0;
}

/* As bands: MT_CATEGORY_COUNT numbers a column, of blocks that are not needed then. NULL: no
 * memory. */
EXPORT("bands_unneeded")
const double *mt_web_bands_unneeded(unsigned slot, bool is_time, double from, double to,
                                    size_t columns)
{
    struct mt_range_shown range = {slot, is_time != 0, from, to, columns};
    double *out = room_for(columns * MT_CATEGORY_COUNT);
    if (out)
        mt_bands_unneeded(&page.idle, &range, out);
    return out;
}

/* Return MT_BAND_FIELDS numbers a column; NULL: no memory. */
EXPORT("bands")
const double *mt_web_bands(unsigned slot, bool is_time, double from, double to, size_t columns)
{
    struct mt_range_shown range = {slot, is_time != 0, from, to, columns};
    double *out = room_for(columns * (MT_BAND_FIELDS + MT_CATEGORY_COUNT));
    if (!out)
        return NULL;
    mt_bands(&page.lives, &range, out);
    if (!page.is_needed)
        return out;
    double *spare = out + columns * MT_BAND_FIELDS, *band = out;
    mt_bands_unneeded(&page.idle, &range, spare);
    for (size_t i = 0; i < columns; i++, band += MT_BAND_FIELDS) {
        band[MT_BAND_LEAST] = 0;
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            band[MT_BAND_LEAST] += band[c] -= *spare++;
    }
    return out;
}

/* Find a text and places (found.h) in all blocks from now on; "": all are found. Return how many
 * are, or a negative errno. */
EXPORT("search") long mt_web_search(const char *text, const char *places)
{
    return mt_find_lives(&page.lives, page.analysis.replay.definitions, text, places);
}

/* As bands: MT_CATEGORY_COUNT numbers a column, of the found blocks only. NULL: no memory. */
EXPORT("bands_found")
const double *mt_web_bands_found(unsigned slot, bool is_time, double from, double to,
                                 size_t columns)
{
    struct mt_range_shown range = {slot, is_time != 0, from, to, columns};
    double *out = room_for(columns * MT_CATEGORY_COUNT);
    if (out)
        mt_bands_found(&page.lives, &range, out);
    return out;
}

/* Return the count of strips (seven numbers each: struct mt_strip); negative: no memory. */
EXPORT("strips")
long mt_web_strips(unsigned slot, bool is_time, double from, double to, size_t columns,
                   double least, int category)
{
    struct mt_range_shown range = {slot, is_time != 0, from, to, columns};
    const struct mt_strips_of of = {(uint64_t)least, category, &page.idle, page.is_needed};
    int rc = mt_strips_lay(&page.strips, &page.lives, &range, &of);
    return rc ? rc : (long)page.strips.n;
}

EXPORT("strip_numbers") const double *mt_web_strip_numbers(void)
{
    return (const double *)page.strips.strip;
}

/* struct mt_idle_piece. */
EXPORT("strips_idle") const double *mt_web_strips_idle(void)
{
    return (const double *)page.strips.idle;
}

EXPORT("strips_n_idle") size_t mt_web_strips_n_idle(void)
{
    return page.strips.n_idle;
}

/* By column: the bytes of blocks too thin for a strip; and the bytes of the strips below them. */
EXPORT("strips_rest") const double *mt_web_strips_rest(void)
{
    return page.strips.rest;
}

EXPORT("strips_below_rest") const double *mt_web_strips_below_rest(void)
{
    return page.strips.below_rest;
}

/* Make the map of a device after a moment; negative: no memory. */
EXPORT("map") int mt_web_map(unsigned slot, double moment)
{
    size_t at = moment < 0 ? 0 : (size_t)moment;
    int rc = mt_map_draw(&page.map, &page.areas, &page.lives, slot, at);
    for (size_t i = 0; i < page.map.n_blocks && page.idle.n; i++)
        page.map.block[i].is_unneeded =
            mt_is_unneeded(&page.idle, (uint32_t)page.map.block[i].life, at);
    return rc;
}

/* struct mt_map_segment. */
EXPORT("map_segments") const double *mt_web_map_segments(void)
{
    return (const double *)page.map.segment;
}

EXPORT("map_n_segments") size_t mt_web_map_n_segments(void)
{
    return page.map.n_segments;
}

/* struct mt_map_block. */
EXPORT("map_blocks") const double *mt_web_map_blocks(void)
{
    return (const double *)page.map.block;
}

EXPORT("map_n_blocks") size_t mt_web_map_n_blocks(void)
{
    return page.map.n_blocks;
}

/* Return the count of a device's rows of events; negative: no memory. */
EXPORT("events") double mt_web_events(unsigned slot)
{
    int rc = mt_event_list_make(&page.events, &page.areas, &page.lives, slot);
    return rc ? rc : (double)(page.lives.course[slot].n + page.events.n_listed);
}

/* Return the row of a moment in the last device's events. */
EXPORT("event_row") double mt_web_event_row(double moment)
{
    return (double)mt_event_list_row(&page.events, moment < 0 ? 0 : (size_t)moment);
}

/* Return rows of the last device's events. */
EXPORT("event_rows") json_t *mt_web_event_rows(double first, unsigned n)
{
    return mt_event_list_rows(&page.events, &page.areas, &page.lives, &page.analysis.replay,
                              first < 0 ? 0 : (size_t)first, n);
}

/* Return the moment shown at x; -1: before the first. */
EXPORT("moment_at") double mt_web_moment_at(unsigned slot, bool is_time, double x)
{
    struct mt_range_shown range = {slot, is_time != 0, x, x, 1};
    return (double)mt_column_moments(&page.lives, &range, 0).first;
}

EXPORT("moment_ns") double mt_web_moment_ns(unsigned slot, double moment)
{
    const struct mt_course *course = &page.lives.course[slot];
    if (!course->n || moment < 0)
        return 0;
    size_t at = moment >= (double)course->n ? course->n - 1 : (size_t)moment;
    return (double)mt_moment_ns(&page.lives, course, at);
}

EXPORT("moment_event") double mt_web_moment_event(unsigned slot, double moment)
{
    const struct mt_course *course = &page.lives.course[slot];
    return moment < 0 || moment >= (double)course->n ? 0 : course->event[(size_t)moment];
}

/* Return the first moment not before an event of the trace. */
EXPORT("moment_of_event") double mt_web_moment_of_event(unsigned slot, double event)
{
    return (double)mt_moment_at_event(&page.lives.course[slot], event < 0 ? 0 : (uint64_t)event);
}

static const struct mt_analysis *of_holders(void)
{
    return mt_held_analysis(&page.at_oom, &page.analysis);
}

static struct mt_who_question question_of(unsigned slot, int by, double at, double since,
                                          int category)
{
    return (struct mt_who_question){.slot = slot,
                                    .by = by >= 0 && by < MT_WHO_COUNT ? (enum mt_who_by)by : 0,
                                    .at = at < 0 ? 0 : (size_t)at,
                                    .since = since < 0 ? 0 : (size_t)since,
                                    .category = category,
                                    .idle = page.is_needed ? &page.idle : NULL};
}

static void add_left(void *data, const struct mt_life *life)
{
    double *out = data;
    out[MT_BETWEEN_LEFT + life->group] += (double)life->size;
}

/* Return MT_BETWEEN_FIELDS numbers of the moments since .. at; NULL: no memory. */
EXPORT("between") const double *mt_web_between(unsigned slot, double since, double at)
{
    double *out = room_for(MT_BETWEEN_FIELDS);
    if (!out)
        return NULL;
    struct mt_who_question question = question_of(slot, 0, at, since, -1);
    mt_sum_between(&page.lives, &page.lives.course[slot], question.since, at, out);
    if (question.idle) {
        memset(out + MT_BETWEEN_LEFT, 0, MT_CATEGORY_COUNT * sizeof *out);
        mt_who_each(&page.lives, &question, add_left, out);
    }
    return out;
}

EXPORT("who")
json_t *mt_web_who(unsigned slot, int by, double at, double since, int category, bool is_folded)
{
    struct mt_who_question question = question_of(slot, by, at, since, category);
    question.is_folded = is_folded != 0;
    return mt_who(&page.lives, &page.analysis.replay, &question);
}

/* Return how sure each category is after a moment, where it is least. */
EXPORT("certainties") json_t *mt_web_certainties(unsigned slot, double at)
{
    struct mt_who_question question = question_of(slot, 0, at, 0, -1);
    return mt_who_certainties(&page.lives, &page.analysis.replay, &question);
}

EXPORT("table")
json_t *mt_web_table(unsigned slot, double at, double since, int category, bool is_found)
{
    struct mt_who_question question = question_of(slot, 0, at, since, category);
    question.is_found = is_found != 0;
    return mt_who_table(&page.lives, of_holders(), &question);
}

EXPORT("temporary")
json_t *mt_web_temporary(unsigned slot, double at, double since, int category, bool is_found)
{
    struct mt_who_question question = question_of(slot, 0, at, since, category);
    question.is_found = is_found != 0;
    return mt_who_temporary(&page.lives, &page.areas, &page.analysis.replay, &question);
}

/* Return the count of blocks in the table's row of a block; negative: no memory. `numbers` has
 * their lives. */
EXPORT("same") long mt_web_same(unsigned slot, double number, double at, double since)
{
    struct mt_who_question question = question_of(slot, 0, at, since, -1);
    double *found = NULL;
    if (number < 0 || number >= (double)page.lives.n)
        return 0;
    const struct mt_life *life = mt_life(&page.lives, (size_t)number);
    long n = mt_who_same(&page.lives, &page.analysis.replay, &question, life, &found);
    if (n >= 0 && !room_for((size_t)n))
        n = -ENOMEM;
    if (n > 0)
        memcpy(page.numbers, found, (size_t)n * sizeof *found);
    free(found);
    return n;
}

/* Return all facts about a block. */
EXPORT("life") json_t *mt_web_life(double number)
{
    if (number < 0 || number >= (double)page.lives.n)
        return json_null();
    return mt_life_json(&page.lives, of_holders(), mt_life(&page.lives, (size_t)number));
}

/* Return three numbers of a block: enum mt_origin, the bytes that CUDA handed out for it, and the
 * bytes that were free there. NULL: no memory. */
EXPORT("served") const double *mt_web_served(double number)
{
    uint64_t made = 0;
    if (number < 0 || number >= (double)page.lives.n || !room_for(3))
        return NULL;
    const struct mt_life *life = mt_life(&page.lives, (size_t)number);
    page.numbers[0] = mt_life_source(&page.areas, &page.lives, life, &made);
    page.numbers[1] = (double)made;
    page.numbers[2] = 0;
    if (page.numbers[0] == MT_FROM_CACHE) {
        if (mt_map_draw(&page.map, &page.areas, &page.lives, life->slot, life->born))
            return NULL;
        page.numbers[2] = mt_map_room(&page.map, life);
    }
    return page.numbers;
}

/* Return the purpose of a segment. */
EXPORT("area") json_t *mt_web_area(double number)
{
    if (number < 0 || number >= (double)page.areas.n)
        return json_null();
    char text[MT_LIFE_TEXT];
    mt_area_purpose(text, &page.areas, &page.lives, &page.analysis.replay, (size_t)number);
    return mt_json_text(text);
}

EXPORT("held") json_t *mt_web_held(unsigned slot, int category)
{
    return mt_held_tree_json(&page.lives, of_holders(), slot, category);
}
