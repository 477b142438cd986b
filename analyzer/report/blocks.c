/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/findings/analysis.h"
#include "analyzer/model/user-line.h"
#include "analyzer/print/json.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_WIDTH 40
#define BEFORE_PLACE 109 /* columns of a row */
#define MOST_PLACE 200

static void print_row(const struct mt_analysis *analysis, const struct mt_device *device,
                      const struct mt_verdict *verdict, FILE *out, const struct mt_style *style)
{
    char size[MT_SIZE_TEXT], lived[MT_SIZE_TEXT], place[512], shown[MOST_PLACE * 4 + 1], rule[256];
    char path[MT_HOLDER_TEXT];
    const struct mt_definitions *d = analysis->replay.definitions;
    mt_named_place_text(place, sizeof place, d, verdict->block->name,
                        mt_line_stack(d, verdict->block));
    size_t room =
        style->columns > BEFORE_PLACE + PLACE_WIDTH ? style->columns - BEFORE_PLACE : PLACE_WIDTH;
    mt_safe_text(shown, sizeof shown, place, room < MOST_PLACE ? room : MOST_PLACE, MT_CUT_END,
                 style);
    fprintf(out, "%#-14" PRIx64 " %11s  ", verdict->block->address,
            mt_size_text(size, verdict->block->size));
    if (device->unused)
        fprintf(out, "%11s  ", mt_size_text(size, verdict->block->size - verdict->unused));
    mt_put_category(out, style, verdict->rule->category, 15);
    fprintf(out, " %9s  ", mt_time_text(lived, mt_block_age(device, verdict->block)));
    snprintf(rule, sizeof rule, "%s%s",
             mt_guess_of(verdict)                    ? "guess: "
             : verdict->rule->certainty == MT_LIKELY ? "likely: "
                                                     : "",
             verdict->rule->name);
    mt_safe_text(place, sizeof place, rule, 0, MT_CUT_END, style);
    fprintf(out, "%-52s  ", place);
    if (!device->n_held) {
        fprintf(out, "%s\n", shown);
        return;
    }
    const struct mt_block_held *held = mt_device_held(device, verdict->block);
    fprintf(out, "%-*s  ", PLACE_WIDTH, shown);
    if (held)
        mt_holder_path_text(path, sizeof path, mt_string(d, held->by->path));
    mt_safe_text(place, sizeof place, held ? path : "?", 100, MT_CUT_END, style);
    fprintf(out, "%s\n", place);
}

void mt_blocks_table(const struct mt_analysis *analysis, FILE *out, const struct mt_style *style)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        char name[MT_SIZE_TEXT], size[MT_SIZE_TEXT], count[MT_SIZE_TEXT], time[MT_SIZE_TEXT];
        fprintf(out, "%s%s: %s in %s block%s at %s\n", i ? "\n" : "",
                mt_device_text(name, device->device), mt_size_text(size, device->at.allocated),
                mt_count_text(count, device->n_verdicts), device->n_verdicts == 1 ? "" : "s",
                mt_time_text(time, device->at.time_ns));
        size_t n;
        struct mt_verdict *rows = mt_filtered_rows(device, &analysis->replay.question.filter,
                                                   analysis->replay.definitions, &n);
        if (n)
            fprintf(out, "%-14s %11s  %s%-15s %9s  %-52s  %-*s%s\n", "address", "bytes",
                    device->unused ? "  requested  " : "", "category", "age", "rule",
                    device->n_held ? PLACE_WIDTH + 2 : 0, "line", device->n_held ? "held by" : "");
        else if (rows && device->n_verdicts)
            fputs(MT_NO_MATCH, out);
        for (size_t j = 0; rows && j < n; j++)
            print_row(analysis, device, &rows[j], out, style);
        free(rows);
    }
}

/* Print "17":[{function, file, line}, ...innermost first] for each stack of a block. */
static int print_stacks(const struct mt_definitions *d, const unsigned char *is_used,
                        uint32_t n_stacks, FILE *out)
{
    struct mt_kept_texts *texts = mt_kept_texts_create();
    int rc = texts ? 0 : -ENOMEM;
    const char *before = "";
    for (uint32_t id = 0; id < n_stacks && !rc; id++) {
        if (!is_used[id])
            continue;
        fprintf(out, "%s\"%u\":", before, id);
        rc = mt_json_put_frames(out, texts, d, id);
        before = ",";
    }
    mt_kept_texts_destroy(texts);
    return rc ? rc : ferror(out) ? -EIO : 0;
}

static void put_text(json_t *object, const char *key, const struct mt_naming *naming,
                     enum mt_property property, const struct mt_verdict *verdict)
{
    char room[MT_PROPERTY_TEXT];
    const char *text =
        mt_property_text(naming, property, mt_property(naming, property, verdict), room);
    json_object_set_new(object, key, text ? mt_json_text(text) : json_null());
}

static json_t *block_object(const struct mt_analysis *analysis, const struct mt_device *device,
                            const struct mt_verdict *verdict)
{
    const struct mt_naming naming = mt_replay_naming(&analysis->replay);
    const struct mt_block *block = verdict->block;
    json_t *object = json_pack("{s:o, s:o}", "address", mt_json_number(block->address), "size",
                               mt_json_number(block->size));
    json_object_set_new(object, "requested", mt_json_number(block->size - verdict->unused));
    put_text(object, "category", &naming, MT_BY_CATEGORY, verdict);
    put_text(object, "rule", &naming, MT_BY_RULE, verdict);
    json_object_set_new(object, "time_ns", mt_json_number(mt_block_time(block)));
    json_object_set_new(object, "age_ns", mt_json_number(mt_block_age(device, block)));
    json_object_set_new(object, "stack", mt_json_number_or_null(block->stack));
    json_object_set_new(object, "forward_stack", mt_json_number_or_null(block->forward_stack));
    put_text(object, "operator", &naming, MT_BY_OPERATOR, verdict);
    put_text(object, "certainty", &naming, MT_BY_CERTAINTY, verdict);
    put_text(object, "dtype", &naming, MT_BY_DTYPE, verdict);
    put_text(object, "module", &naming, MT_BY_MODULE, verdict);
    put_text(object, "name", &naming, MT_BY_NAME, verdict);
    json_object_set_new(object, "range",
                        mt_json_range(naming.definitions, naming.ranges, block->range));
    enum mt_unneeded_kind unneeded = mt_unneeded_kind_of(device, block);
    if (device->unneeded.is_known)
        json_object_set_new(
            object, "unneeded",
            unneeded == MT_UNNEEDED_KINDS ? json_null() : json_string(mt_unneeded_name(unneeded)));
    if (device->n_held)
        json_object_set_new(object, "holders",
                            mt_json_held(naming.definitions, mt_device_held(device, block)));
    return object;
}

static void note_stack(unsigned char *is_used, const struct mt_definitions *d, uint32_t stack)
{
    if (mt_stack(d, stack)->depth)
        is_used[stack] = true;
}

/* Print block by block: all of them may not fit in memory as text. */
static int print_device(const struct mt_analysis *analysis, const struct mt_device *device,
                        unsigned char *is_used, FILE *out)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    int rc = mt_json_piece(out, "{\"device\":", mt_json_index(device->device));
    fprintf(out, ",\"level\":\"%s\"", device->of_cuda ? "cuda" : "pytorch");
    const struct {
        const char *before;
        uint64_t number;
    } numbers[] = {{",\"time_ns\":", device->at.time_ns},
                   {",\"event\":", device->at.event},
                   {",\"allocated\":", device->at.allocated},
                   {",\"reserved\":", device->at.reserved}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !rc; i++)
        rc = mt_json_piece(out, numbers[i].before, mt_json_number(numbers[i].number));
    fputs(",\"blocks\":[", out);
    size_t n;
    struct mt_verdict *rows = mt_filtered_rows(device, &analysis->replay.question.filter, d, &n);
    rc = rows ? rc : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct mt_verdict *verdict = &rows[i];
        note_stack(is_used, d, verdict->block->stack);
        note_stack(is_used, d, verdict->block->forward_stack);
        rc = mt_json_piece(out, i ? "," : "", block_object(analysis, device, verdict));
    }
    free(rows);
    fputs("]}", out);
    return rc;
}

static json_t *moment_object(const struct mt_analysis *analysis)
{
    const struct mt_replay *replay = &analysis->replay;
    const struct mt_device *main = mt_analysis_main_device(analysis);
    bool own = replay->question.moment.kind == MT_AT_PEAK;
    return json_pack(
        "{s:s, s:o, s:o}", "moment", mt_moment_name(replay->question.moment.kind), "time_ns",
        mt_json_number(own ? main ? main->at.time_ns : 0 : replay->at_moment.time_ns), "event",
        mt_json_number(own ? main ? main->at.event : 0 : replay->at_moment.event));
}

int mt_blocks_json(const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    uint32_t n_stacks = mt_definitions_stack_limit(d);
    unsigned char *is_used = calloc((size_t)n_stacks + 1, 1);
    struct mt_ended ended = mt_analysis_ended(analysis);
    int rc = is_used ? mt_json_piece(
                           out, "{\"schema\":\"memtap.blocks/1\",\"ended\":", mt_json_ended(&ended))
                     : -ENOMEM;
    if (!rc)
        rc = mt_json_piece(out, ",\"at\":", moment_object(analysis));
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        fputs(i ? "," : ",\"devices\":[", out);
        rc = print_device(analysis, &analysis->devices[i], is_used, out);
    }
    if (!rc) {
        fputs(analysis->n_devices ? "],\"stacks\":{" : ",\"devices\":[],\"stacks\":{", out);
        rc = print_stacks(d, is_used, n_stacks, out);
        fputs("}}\n", out);
    }
    free(is_used);
    return rc;
}
