/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/model/user-line.h"
#include "analyzer/report/held-report.h"
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Make the steps from one to another, each with those below it. They are less than MT_HOLDER_DEPTH
 * deep. */
static json_t *branches(const struct mt_holder_tree *tree, size_t at, size_t end)
{
    json_t *array = json_array();
    for (; at < end; at = tree->step[at].end) {
        const struct mt_holder_step *step = &tree->step[at];
        char text[MT_HOLDER_TEXT];
        json_t *object = json_pack(
            "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "step",
            mt_json_text(mt_holder_step_text(text, sizeof text, step)), "bytes",
            mt_json_number(step->bytes), "blocks", mt_json_number(step->blocks), "own",
            mt_json_number(step->own), "only_here", mt_json_number(step->only), "views",
            mt_json_number_or_null(step->views), "below", branches(tree, at + 1, step->end));
        if (!step->depth)
            json_object_set_new(object, "root", json_string(mt_holder_root_name(step->root)));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *lists(const struct mt_holders *holders)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < holders->n; i++) {
        const struct mt_holder_list *list = &holders->list[i];
        json_array_append_new(
            array, json_pack("{s:o, s:s, s:s, s:o, s:o}", "time_ns", mt_json_number(list->time_ns),
                             "moment", mt_holders_moment_name(list->moment), "result",
                             mt_holders_result_name(list->result), "objects",
                             mt_json_number(list->objects), "holders", mt_json_number(list->n)));
    }
    return array;
}

static json_t *block(const struct mt_device *device, const struct mt_verdict *verdict)
{
    const struct mt_definitions *d = device->context.definitions;
    return json_pack("{s:o, s:o, s:o, s:o}", "address", mt_json_number(verdict->block->address),
                     "size", mt_json_number(verdict->block->size), "line",
                     mt_json_frame(d, mt_line_stack(d, verdict->block)), "holders",
                     mt_json_held(d, mt_device_held(device, verdict->block)));
}

/* Print block by block: all of them may not fit in memory as text. */
static int put_device(const struct mt_device *device, const struct mt_held_choice *choice,
                      FILE *out)
{
    struct mt_held_rows rows;
    int rc = mt_held_chosen(&rows, device, choice);
    const struct {
        const char *before;
        uint64_t number;
    } numbers[] = {{",\"time_ns\":", device->at.time_ns},
                   {",\"bytes\":", rows.bytes},
                   {",\"held\":", rows.tree.bytes},
                   {",\"garbage\":", mt_held_garbage(&rows.tree, MT_HOLDER_GARBAGE)},
                   {",\"uncollectable\":", mt_held_garbage(&rows.tree, MT_HOLDER_CYCLE)},
                   {",\"lost\":", mt_held_garbage(&rows.tree, MT_HOLDER_LOST)}};
    if (!rc)
        rc = mt_json_piece(out, "{\"device\":", mt_json_index(device->device));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !rc; i++)
        rc = mt_json_piece(out, numbers[i].before, mt_json_number(numbers[i].number));
    if (!rc)
        rc = mt_json_piece(out, ",\"tree\":", branches(&rows.tree, 0, rows.tree.n));
    fputs(",\"blocks\":[", out);
    for (size_t i = 0; i < rows.n && !rc; i++)
        rc = mt_json_piece(out, i ? "," : "", block(device, &rows.verdict[i]));
    fputs("]}", out);
    mt_held_rows_clear(&rows);
    return rc;
}

int mt_holders_json(const struct mt_analysis *analysis, const struct mt_held_choice *choice,
                    FILE *out)
{
    const struct mt_replay *replay = &analysis->replay;
    struct mt_ended ended = mt_analysis_ended(analysis);
    int rc =
        mt_json_piece(out, "{\"schema\":\"memtap.holders/1\",\"ended\":", mt_json_ended(&ended));
    fprintf(out, ",\"at\":\"%s\"", mt_moment_name(replay->question.moment.kind));
    if (!rc)
        rc = mt_json_piece(out, ",\"lists\":", lists(&replay->holders));
    fputs(",\"devices\":[", out);
    for (size_t i = 0; i < analysis->n_devices && !rc; i++) {
        fputs(i ? "," : "", out);
        rc = put_device(&analysis->devices[i], choice, out);
    }
    fputs("]}\n", out);
    return rc;
}
