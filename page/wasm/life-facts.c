/* SPDX-License-Identifier: Apache-2.0 */
#include "life-facts.h"
#include "analyzer/classify/modules.h"
#include "analyzer/findings/oom.h"
#include "analyzer/holders/holder-words.h"
#include "analyzer/model/user-line.h"
#include "analyzer/print/json.h"
#include "analyzer/print/page.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/search.h"
#include "trace-format/dtypes.h"

#include <stdio.h>
#include <string.h>

const struct mt_verdict *mt_life_verdict(struct mt_life_verdict *out,
                                         const struct mt_replay *replay, const struct mt_life *life)
{
    out->birth = (struct mt_birth){.when.phase = life->phase};
    out->block = (struct mt_block){.birth = &out->birth,
                                   .stack = life->stack,
                                   .forward_stack = life->forward_stack,
                                   .leaf_stack = life->module, /* for mt_block_module */
                                   .node_name = life->node_name,
                                   .name = life->name,
                                   .dtype = life->dtype,
                                   .size = life->size};
    out->verdict = (struct mt_verdict){&out->block, mt_rule_at(replay->question.rules, life->rule)};
    return &out->verdict;
}

static uint32_t line_stack(const struct mt_definitions *definitions, const struct mt_life *life)
{
    return mt_stack_line(definitions, life->forward_stack ? life->forward_stack : life->stack);
}

void mt_life_line(const struct mt_definitions *definitions, const struct mt_life *life,
                  char out[MT_LIFE_TEXT])
{
    mt_named_place_text(out, MT_LIFE_TEXT, definitions, life->name, line_stack(definitions, life));
}

const struct mt_frame *mt_life_frame(const struct mt_definitions *definitions,
                                     const struct mt_life *life)
{
    return mt_named_frame(definitions, mt_stack(definitions, line_stack(definitions, life))->frame);
}

void mt_frame_place(char out[MT_LIFE_TEXT], const struct mt_frame *frame)
{
    const char *slash = strrchr(frame->file, '/');
    if (frame->line)
        snprintf(out, MT_LIFE_TEXT, "%s:%u", slash ? slash + 1 : frame->file, frame->line);
    else
        snprintf(out, MT_LIFE_TEXT, "%s", slash ? slash + 1 : frame->file);
}

void mt_life_operator(const struct mt_definitions *definitions, const struct mt_life *life,
                      char out[MT_LIFE_TEXT])
{
    mt_operation_text(out, MT_LIFE_TEXT, definitions, life->node_name, life->stack);
}

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

const struct mt_device *mt_held_device(const struct mt_analysis *analysis, unsigned slot)
{
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (mt_device_slot(analysis->devices[i].device) == slot && analysis->devices[i].n_held)
            return &analysis->devices[i];
    return NULL;
}

const struct mt_held_block *mt_life_held(const struct mt_lives *lives,
                                         const struct mt_analysis *analysis,
                                         const struct mt_life *life)
{
    const struct mt_device *device = mt_held_device(analysis, life->slot);
    if (!device)
        return NULL;
    const struct mt_held_block *held = device->held, *end = held + device->n_held;
    held += MT_LEADING(i, device->n_held, held[i].verdict->block->address < life->address);
    while (held < end && mt_life_of_block(lives, held->verdict->block) != life &&
           held->verdict->block->address == life->address)
        held++;
    return held < end && held->verdict->block->address == life->address ? held : NULL;
}

/* Return what held a block at the reported moment; null: not known. */
static json_t *holder_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                           const struct mt_life *life)
{
    const struct mt_held_block *found = mt_life_held(lives, analysis, life);
    if (!found)
        return json_null();
    char path[MT_HOLDER_TEXT];
    const struct mt_holder *by = found->held.by;
    mt_holder_path_text(path, sizeof path, mt_string(analysis->replay.definitions, by->path));
    return json_pack("{s:s, s:o, s:I}", "verb", mt_holder_verb(by->root), "path",
                     mt_json_text(path), "n", (json_int_t)found->held.n);
}

json_t *mt_life_uses_json(const struct mt_lives *lives, const struct mt_definitions *d,
                          const struct mt_life *life)
{
    const struct mt_life_uses *uses = mt_life_uses(lives, life);
    char line[MT_LIFE_TEXT] = "";
    if (!uses || (!uses->of.is_never && !uses->of.last.time_ns))
        return json_null();
    uint32_t stack = mt_request_line(d, uses->of.last.stack, 0);
    if (stack)
        mt_place_text(line, sizeof line, d, stack);
    return json_pack("{s:b, s:b, s:I, s:o}", "is_never", uses->of.is_never, "is_passed",
                     uses->of.is_passed, "last_ns", (json_int_t)uses->of.last.time_ns, "line",
                     mt_json_text(line));
}

json_t *mt_life_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                     const struct mt_life *life)
{
    const struct mt_replay *replay = &analysis->replay;
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
        mt_phase_names[life->phase].where, "dtype", life->dtype ? mt_dtype_name(life->dtype) : "");
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
    json_object_set_new(object, "holder", holder_json(lives, analysis, life));
    json_object_set_new(object, "uses", mt_life_uses_json(lives, d, life));
    json_object_set_new(object, "stack", frames_json(d, life->stack));
    json_object_set_new(object, "forward_stack", frames_json(d, life->forward_stack));
    return object;
}

static json_t *oom_json(const struct mt_lives *lives, const struct mt_definitions *d,
                        const struct mt_oom *oom)
{
    unsigned slot = mt_device_slot(oom->device);
    size_t moment = mt_moment_at_ns(lives, &lives->course[slot], oom->time_ns);
    uint32_t stack = mt_oom_line(d, oom);
    char line[MT_LIFE_TEXT] = "";
    if (stack)
        mt_place_text(line, sizeof line, d, mt_stack_line(d, stack));
    return json_pack("{s:i, s:I, s:I, s:I, s:b, s:b, s:o}", "slot", (int)slot, "moment",
                     (json_int_t)moment, "time_ns", (json_int_t)oom->time_ns, "requested",
                     (json_int_t)oom->wanted, "went_on", oom->went_on, "is_stacked",
                     !oom->of_cuda && !oom->of_library, "line", mt_json_text(line));
}

json_t *mt_ooms_json(const struct mt_lives *lives, const struct mt_replay *replay)
{
    json_t *array = json_array();
    for (uint64_t i = mt_replay_first_oom(replay); i < replay->ooms.n; i++)
        json_array_append_new(
            array, oom_json(lives, replay->definitions, &replay->ooms.kept[i % MT_OOMS_KEPT]));
    return array;
}

json_t *mt_spans_json(const struct mt_lives *lives, const struct mt_spans *spans, unsigned slot)
{
    json_t *array = json_array();
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        size_t moment = mt_moment_at_event(&lives->course[slot], span->event);
        char where[64];
        mt_span_text(where, sizeof where, spans, span);
        json_array_append_new(
            array, json_pack("{s:I, s:I, s:s, s:b, s:s, s:I, s:I}", "moment", (json_int_t)moment,
                             "time_ns", (json_int_t)span->time_ns, "phase",
                             mt_phase_names[span->phase].label, "evaluates",
                             mt_span_evaluates(span), "where", where, "iteration",
                             (json_int_t)span->iteration, "most", (json_int_t)span->most));
    }
    return array;
}
