/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/print/json.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "parts.h"

#include <string.h>

static json_t *operator_of(const struct mt_definitions *definitions, const struct mt_oom *oom)
{
    return mt_json_type_name(definitions, oom->node_name);
}

json_t *mt_json_served(enum mt_served served)
{
    return served == MT_SERVED_UNKNOWN ? json_null() : json_boolean(served == MT_SERVED_YES);
}

json_t *mt_json_largest_batch(double least, double about)
{
    return about > 0 ? json_pack("{s:f, s:f}", "least", least, "about", about) : json_null();
}

static json_t *suggestion(const struct mt_advice *advice)
{
    json_t *modules = mt_json_text_or_null(advice->modules);
    bool is_set = !strcmp(advice->change, "set");
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "what",
        mt_json_text(is_set ? advice->set : advice->what), "bytes", mt_json_number(advice->bytes),
        "change", mt_json_text(advice->change), "set", mt_json_text_or_null(advice->set), "fits",
        mt_json_served(advice->served), "how", advice->is_replayed ? "replayed" : "modelled",
        "modules", modules, "through",
        advice->served == MT_SERVED_YES && advice->reach
            ? json_string(mt_reach_names[advice->reach])
            : json_null(),
        "largest_batch", mt_json_largest_batch(advice->least_batch, advice->about_batch));
}

json_t *mt_json_handles(const struct mt_handles_to_come *handles)
{
    return json_pack("{s:o, s:b}", "bytes", mt_json_number(handles->bytes), "lacks_cublas",
                     (int)handles->lacks);
}

static json_t *rest_json(const struct mt_oom_rest *rest)
{
    if (rest->known <= MT_REACH_REQUEST)
        return json_null();
    return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:b, s:o, s:o, s:o}", "through",
                     mt_reach_names[rest->known], "how", "modelled", "layers",
                     (json_int_t)rest->layers, "layers_seen", (json_int_t)rest->seen, "state",
                     mt_json_number(rest->state), "passing", mt_json_number(rest->passing),
                     "supposes_adam", (int)rest->supposes_adam, "evaluates", (int)rest->evaluates,
                     "more_needed", mt_json_number_or_null(rest->more), "more_for_backward",
                     mt_json_number_or_null(rest->of_backward), "handles",
                     mt_json_handles(&rest->handles));
}

static json_t *suggestions(const struct mt_oom_story *story)
{
    json_t *array = json_array();
    for (size_t i = 0; i < story->n_advice; i++)
        json_array_append_new(array, suggestion(&story->advice[i]));
    return array;
}

static json_t *all(const struct mt_analysis *analysis)
{
    const struct mt_replay *replay = &analysis->replay;
    json_t *array = json_array();
    for (uint64_t i = mt_replay_first_oom(replay); i < replay->ooms.n; i++) {
        const struct mt_oom *oom = &replay->ooms.kept[i % MT_OOMS_KEPT];
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "device",
                             mt_json_index(oom->device), "time_ns", mt_json_number(oom->time_ns),
                             "requested", mt_json_number(oom->wanted), "went_on", oom->went_on,
                             "stack", mt_json_frames(replay->definitions, oom->stack), "operator",
                             operator_of(replay->definitions, oom), "forward_stack",
                             mt_json_frames(replay->definitions, oom->forward_stack)));
    }
    return array;
}

static json_t *tried_json(const struct mt_oom_tried *tried)
{
    return *tried->set ? json_pack("{s:o, s:b, s:b, s:o}", "set", mt_json_text(tried->set), "fits",
                                   tried->has_ended, "repeats", tried->repeats, "place",
                                   mt_json_text_or_null(tried->place))
                       : json_null();
}

int mt_oom_json(const struct mt_oom_story *story, const struct mt_analysis *analysis, FILE *out)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    const struct mt_oom *oom = story->oom;
    const struct mt_pool_state *pool = &story->device->segments.pool[story->pool];
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "schema",
        "memtap.oom/1", "device", mt_json_index(oom->device), "time_ns",
        mt_json_number(oom->time_ns), "requested", mt_json_number(oom->wanted), "segment",
        mt_json_number(story->segment), "allocated", mt_json_number(oom->allocated), "reserved",
        mt_json_number(oom->reserved), "cached", mt_json_number(story->cached), "largest_free",
        story->knows_pieces ? mt_json_number(pool->largest_free) : json_null(),
        "would_fit_expandable", (int)story->would_fit_expandable, "missed_by",
        mt_json_number(story->missed_by), "categories", mt_categories_json(story->device), "stack",
        mt_json_frames(d, oom->stack));
    if (!object)
        return mt_json_print(out, NULL, 0);
    json_object_set_new(object, "operator", operator_of(d, oom));
    json_object_set_new(object, "library",
                        mt_json_text_or_null(oom->of_library ? mt_library_of(d, oom->stack) : ""));
    json_object_set_new(object, "forward_stack", mt_json_frames(d, oom->forward_stack));
    json_object_set_new(object, "free_on_card", mt_json_number(story->on_card));
    json_object_set_new(object, "limit", mt_json_number_or_null(story->limit));
    json_object_set_new(object, "fits_without_limit", mt_json_served(story->without_limit));
    struct mt_ended ended = mt_analysis_ended(analysis);
    json_object_set_new(object, "ended", mt_json_ended(&ended));
    json_object_set_new(object, "rules", mt_rules_json(story->device));
    json_object_set_new(object, "pool",
                        json_string(story->pool == MT_POOL_SMALL ? "small" : "large"));
    if (story->knows_pieces)
        json_object_set_new(object, "pools",
                            json_pack("{s:o, s:o}", "small",
                                      mt_json_pool(&story->device->segments.pool[MT_POOL_SMALL]),
                                      "large",
                                      mt_json_pool(&story->device->segments.pool[MT_POOL_LARGE])));
    json_object_set_new(object, "private_pools",
                        mt_json_private_pools(&story->device->private_pools));
    json_object_set_new(object, "cuda_pools", mt_json_cuda_pools(analysis, story->device));
    if (story->device->rising.n)
        json_object_set_new(object, "rising", mt_json_rising(d, &story->device->rising));
    json_object_set_new(object, "cuda", mt_json_number(story->device->at.cuda_bytes));
    json_object_set_new(object, "precision", mt_json_precision(&story->device->precision));
    json_object_set_new(object, "balance", mt_json_balance(&story->device->balance));
    json_object_set_new(object, "phase",
                        story->span ? json_string(mt_phase_names[story->span->phase].name)
                                    : json_null());
    json_object_set_new(
        object, "range",
        mt_json_range(d, &analysis->replay.tracker.ranges, story->device->at.range));
    json_object_set_new(object, "iteration",
                        json_integer(story->span ? story->span->iteration : 0));
    json_object_set_new(object, "growth", mt_json_growth(d, &story->device->growth));
    json_object_set_new(object, "left_behind",
                        json_pack("{s:o, s:s, s:o}", "bytes", mt_json_number(story->left), "each",
                                  story->of_forwards ? "forward" : "iteration", "sites",
                                  mt_json_growth_sites(d, story->kept)));
    json_object_set_new(object, "call_sites",
                        mt_json_call_sites(d, story->device, &analysis->replay.question.filter));
    if (story->device->n_held)
        json_object_set_new(object, "held", mt_json_held_kinds(story->device));
    if (story->device->unneeded.is_known)
        json_object_set_new(object, "unneeded", mt_json_unneeded(d, &story->device->unneeded));
    json_object_set_new(object, "pinned_by", mt_json_pins(&story->pins, d));
    json_object_set_new(object, "more_needed", mt_json_number_or_null(story->more));
    json_object_set_new(object, "rest", rest_json(&story->rest));
    json_object_set_new(object, "suggestions", suggestions(story));
    json_object_set_new(object, "tried", tried_json(&story->tried));
    json_object_set_new(object, "remark", mt_json_remark(analysis));
    json_object_set_new(object, "host", mt_json_host(analysis));
    json_object_set_new(object, "all", all(analysis));
    return mt_json_print(out, object, 0);
}
