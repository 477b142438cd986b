/* SPDX-License-Identifier: Apache-2.0 */
#include "life-json.h"
#include "analyzer/classify/modules.h"
#include "analyzer/print/json.h"
#include "life-names.h"
#include "trace-format/dtypes.h"

#include <stdio.h>

static json_t *frames_json(const struct mt_definitions *d, uint32_t stack)
{
    json_t *array = json_array();
    for (uint32_t at = stack; at && mt_stack(d, at)->depth; at = mt_stack(d, at)->parent) {
        const struct mt_frame *frame = mt_named_frame(d, mt_stack(d, at)->frame);
        json_array_append_new(array, json_pack("{s:o, s:o, s:i, s:b}", "function",
                                               mt_json_text(frame->function), "file",
                                               mt_json_text(frame->file), "line", (int)frame->line,
                                               "is_own", mt_stack(d, at)->user == at));
    }
    return array;
}

json_t *mt_life_json(const struct mt_lives *lives, const struct mt_replay *replay,
                     const struct mt_life *life)
{
    const struct mt_definitions *d = replay->definitions;
    const struct mt_rule *rule = mt_rule_at(replay->question.rules, life->rule);
    const struct mt_course *course = &lives->course[life->slot];
    char address[32], line[MT_LIFE_TEXT];
    mt_life_line(d, life, line);
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)life->address);
    json_t *object = json_pack(
        "{s:I, s:s, s:I, s:i, s:s, s:s, s:s, s:s}", "bytes", (json_int_t)life->size, "address",
        address, "born", (json_int_t)life->born, "category", (int)life->category, "rule",
        rule->name, "certainty", mt_certainty_name(rule->certainty), "phase",
        mt_phase_names[life->phase].label, "dtype", life->dtype ? mt_dtype_name(life->dtype) : "");
    json_object_set_new(object, "bits", json_integer(mt_dtype_bits(life->dtype)));
    json_object_set_new(object, "line", json_string(line));
    json_object_set_new(object, "born_ns", json_integer((json_int_t)life->born_ns));
    json_object_set_new(object, "born_event", json_integer(course->event[life->born]));
    json_object_set_new(object, "ended",
                        life->ended == MT_LIFE_GOES_ON ? json_null()
                                                       : json_integer((json_int_t)life->ended));
    json_object_set_new(object, "ended_ns",
                        life->ended == MT_LIFE_GOES_ON ? json_null()
                                                       : json_integer((json_int_t)life->ended_ns));
    json_object_set_new(object, "name", mt_json_name(d, life->name));
    json_object_set_new(object, "operator", mt_json_type_name(d, life->node_name));
    json_object_set_new(object, "module", mt_json_text(mt_stack_module(d, life->module)));
    json_object_set_new(object, "stack", frames_json(d, life->stack));
    json_object_set_new(object, "forward_stack", frames_json(d, life->forward_stack));
    return object;
}
