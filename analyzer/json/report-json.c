/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/classify/tracker.h"
#include "analyzer/findings/oom.h"
#include "analyzer/report/report.h"
#include "parts.h"

json_t *mt_categories_json(const struct mt_device *device)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < mt_n_categories; i++)
        json_object_set_new(object, mt_categories[i].name,
                            mt_json_number(device->category[i].bytes));
    return object;
}

json_t *mt_rules_json(const struct mt_device *device)
{
    json_t *array = json_array();
    size_t n = device->by_rule ? mt_rules_count(device->context.user) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_rule *rule = mt_rule_at(device->context.user, i);
        const struct mt_share *share = &device->by_rule[i];
        if (share->blocks)
            json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:o, s:o}", "rule", rule->name,
                                                   "category", mt_categories[rule->category].name,
                                                   "certainty", mt_certainty_name(rule->certainty),
                                                   "bytes", mt_json_number(share->bytes), "blocks",
                                                   mt_json_number(share->blocks)));
    }
    return array;
}

static json_t *peak(const struct mt_device *device)
{
    if (!device)
        return json_null();
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o}", "device", mt_json_index(device->device), "time_ns",
                  mt_json_number(device->at.time_ns), "event", mt_json_number(device->at.event),
                  "allocated", mt_json_number(device->at.allocated));
    if (!device->of_cuda) {
        json_object_set_new(object, "reserved", mt_json_number(device->at.reserved));
        json_object_set_new(object, "cached", mt_json_number(device->cached));
        json_object_set_new(object, "not_requested", mt_json_number(device->unused));
    }
    json_object_set_new(object, "unseen", mt_json_number(device->unseen));
    if (device->at.cuda_bytes)
        json_object_set_new(object, "cuda", mt_json_number(device->at.cuda_bytes));
    if (device->span) {
        json_object_set_new(object, "phase", json_string(mt_phase_names[device->span->phase].name));
        json_object_set_new(object, "part", json_string(mt_part_names[mt_device_part(device)]));
        json_object_set_new(object, "iteration", json_integer(device->span->iteration));
        if (device->spans->serves)
            json_object_set_new(object, "serving",
                                json_string(mt_serving_names[device->span->serving].name));
    }
    json_object_set_new(object, "range",
                        mt_json_range(device->context.definitions, &device->context.tracker->ranges,
                                      device->at.range));
    json_object_set_new(object, "categories", mt_categories_json(device));
    json_object_set_new(object, "rules", mt_rules_json(device));
    return object;
}

static json_t *span(const struct mt_span *span)
{
    return span ? json_pack("{s:s, s:i, s:o, s:o, s:o}", "phase", mt_phase_names[span->phase].name,
                            "iteration", (int)span->iteration, "allocated",
                            mt_json_number(span->most), "time_ns",
                            mt_json_number(span->most_time_ns), "event",
                            mt_json_number(span->most_event))
                : json_null();
}

/* Make the worst fragmentation of the whole run. */
static json_t *worst(const struct mt_definitions *definitions, const struct mt_worst *worst)
{
    if (!worst->times)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "times",
                     mt_json_number(worst->times), "time_ns", mt_json_number(worst->time_ns),
                     "event", mt_json_number(worst->event), "wanted", mt_json_number(worst->wanted),
                     "free", mt_json_number(worst->lay_free), "reserved",
                     mt_json_number(worst->reserved), "operator",
                     mt_json_type_name(definitions, worst->node_name), "line",
                     mt_json_frame(definitions, worst->stack));
}

static json_t *free_trend(const struct mt_spans *spans)
{
    struct mt_free_trend trend = mt_spans_free_trend(spans);
    if (!trend.first)
        return json_null();
    return json_pack("[{s:i, s:f}, {s:i, s:f}]", "iteration", (int)trend.first, "part_free",
                     trend.first_part, "iteration", (int)trend.last, "part_free", trend.last_part);
}

static json_t *fragmentation(const struct mt_definitions *definitions,
                             const struct mt_device *device)
{
    if (device->of_cuda || !device->segments.n || device->segments.unplaced)
        return json_null();
    return json_pack("{s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "part_free",
                     device->at.reserved ? (double)device->cached / (double)device->at.reserved
                                         : 0.0,
                     "small", mt_json_pool(&device->segments.pool[MT_POOL_SMALL]), "large",
                     mt_json_pool(&device->segments.pool[MT_POOL_LARGE]), "pinned_by",
                     mt_json_pins(&device->pins, definitions), "worst",
                     worst(definitions, device->worst[MT_FREE_PIECES]), "not_fragmented",
                     json_pack("{s:o, s:o}", mt_free_kind_names[MT_FREE_WHOLE],
                               worst(definitions, device->worst[MT_FREE_WHOLE]),
                               mt_free_kind_names[MT_FREE_OTHERS],
                               worst(definitions, device->worst[MT_FREE_OTHERS])),
                     "iterations", free_trend(device->spans));
}

static json_t *groups(const struct mt_definitions *definitions, const struct mt_device *device,
                      enum mt_property by, const struct mt_filter *filter)
{
    json_t *array = json_array();
    size_t n = mt_filter_rows(filter, device->groups.n, device->groups.n);
    for (size_t i = 0; i < n; i++) {
        const struct mt_group *group = &device->groups.group[i];
        json_t *object =
            json_pack("{s:o, s:o, s:o}", "name", mt_json_text(group->name), "bytes",
                      mt_json_number(group->bytes), "blocks", mt_json_number(group->blocks));
        if (by == MT_BY_STACK)
            json_object_set_new(object, "frames", mt_json_frames(definitions, group->stack));
        json_array_append_new(array, object);
    }
    return json_pack("{s:s, s:o}", "by", mt_property_name(by), "groups", array);
}

static json_t *idle(const struct mt_definitions *definitions, const struct mt_idle *idle)
{
    json_t *object = json_object();
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        json_object_set_new(object, mt_idle_name(kind),
                            mt_json_sums(definitions, &idle->kind[kind]));
    return object;
}

/* Make the sums of a kind, each with the line of the use that counts. */
static json_t *unneeded_sums(const struct mt_definitions *definitions,
                             const struct mt_unneeded *unneeded, enum mt_unneeded_kind kind)
{
    const struct mt_sums *sums = &unneeded->kind[kind];
    json_t *sites = json_array();
    for (size_t i = 0; i < sums->n; i++) {
        json_t *site = mt_json_sum(definitions, &sums->sum[i]);
        bool is_used = kind != MT_UNNEEDED_NEVER;
        if (is_used)
            json_object_set_new(site, "used", mt_json_frame(definitions, sums->sum[i].key[1]));
        if (is_used && i < MT_UNNEEDED_HELD && unneeded->held[kind][i].path)
            json_object_set_new(site, "held_by", mt_json_held_most(&unneeded->held[kind][i]));
        json_array_append_new(sites, site);
    }
    return mt_json_sums_with(sums, sites);
}

static json_t *shared_sums(const struct mt_definitions *definitions, const struct mt_sums *shared)
{
    json_t *sites = json_array();
    for (size_t i = 0; i < shared->n; i++) {
        json_t *site = mt_json_sum(definitions, &shared->sum[i]);
        json_object_set_new(site, "for", mt_json_frame(definitions, shared->sum[i].key[1]));
        json_array_append_new(sites, site);
    }
    return mt_json_sums_with(shared, sites);
}

json_t *mt_json_unneeded(const struct mt_definitions *definitions,
                         const struct mt_unneeded *unneeded)
{
    json_t *object = json_pack(
        "{s:o,s:o,s:o,s:o,s:o}", "bytes", mt_json_number(unneeded->bytes), "of_own_line",
        mt_json_number(unneeded->of_own_line), "passed", mt_json_number(unneeded->passed),
        "unknown", mt_json_number(unneeded->unknown), "to_come", mt_json_number(unneeded->to_come));
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        json_object_set_new(object, mt_unneeded_name(kind),
                            unneeded_sums(definitions, unneeded, kind));
    json_object_set_new(object, "shared", shared_sums(definitions, &unneeded->shared));
    return object;
}

static json_t *serving(const struct mt_serving_budget *budget)
{
    if (!budget->serves)
        return json_null();
    json_t *work = json_array();
    for (unsigned what = MT_SERVING_NONE + 1; what < MT_SERVING_COUNT; what++)
        if (budget->work[what].times)
            json_array_append_new(
                work, json_pack("{s:s, s:o, s:o, s:o}", "work", mt_serving_names[what].name,
                                "times", mt_json_number(budget->work[what].times), "allocated",
                                mt_json_number(budget->work[what].most), "time_ns",
                                mt_json_number(budget->work[what].most_time_ns)));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "weights", mt_json_number(budget->weights),
                     "activations", mt_json_number(budget->activations), "graphs",
                     mt_json_number(budget->graphs), "captures", mt_json_number(budget->captures),
                     "captured", mt_json_number(budget->captured), "work", work);
}

static json_t *cache_room(const struct mt_cache_room *room)
{
    if (!room->room.tokens)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:b}", "tokens", mt_json_number(room->room.tokens), "longest",
                     mt_json_number(room->room.longest), "sequences",
                     mt_json_number(room->sequences), "at_least", room->is_least);
}

/* Make the peak of reserved memory. */
static json_t *most_reserved(const struct mt_analysis *analysis, const struct mt_device *device)
{
    const struct mt_totals *most = device->most_reserved;
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "time_ns", mt_json_number(most->time_ns), "event",
                     mt_json_number(most->event), "reserved", mt_json_number(most->reserved),
                     "allocated", mt_json_number(most->allocated), "by",
                     mt_json_cached(analysis->replay.definitions, &device->most_cached_by, false));
}

static json_t *devices(const struct mt_analysis *analysis)
{
    json_t *array = json_array();
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *device = &analysis->devices[i];
        json_t *object = json_pack(
            "{s:o, s:s, s:o, s:i, s:o, s:o, s:o, s:o}", "device", mt_json_index(device->device),
            "level", device->of_cuda ? "cuda" : "pytorch", "peak", peak(device), "iterations",
            device->spans ? (int)device->spans->iterations : 0, "next_highest", span(device->next),
            "growth", mt_json_growth(analysis->replay.definitions, &device->growth),
            "fragmentation", fragmentation(analysis->replay.definitions, device), "call_sites",
            mt_json_call_sites(analysis->replay.definitions, device,
                               &analysis->replay.question.filter));
        if (device->of_cuda && analysis->replay.survey.complete)
            json_object_set_new(object, "not_freed",
                                mt_json_sums(analysis->replay.definitions, &device->leaks));
        if (device->rising.n)
            json_object_set_new(object, "rising",
                                mt_json_rising(analysis->replay.definitions, &device->rising));
        if (device->n_held)
            json_object_set_new(object, "held", mt_json_held_kinds(device));
        if (device->idle.is_known)
            json_object_set_new(object, "idle", idle(analysis->replay.definitions, &device->idle));
        if (device->unneeded.is_known)
            json_object_set_new(object, "unneeded",
                                mt_json_unneeded(analysis->replay.definitions, &device->unneeded));
        json_object_set_new(object, "counted_by",
                            json_string(mt_counted_names[device->spans->counted]));
        json_object_set_new(object, "loop", mt_json_loop(device->spans->loop));
        json_object_set_new(object, "ranges",
                            mt_json_ranges(&device->context, mt_device_slot(device->device)));
        if (!device->of_cuda) {
            json_object_set_new(
                object, "cached",
                mt_json_cached(analysis->replay.definitions, &device->cached_by, true));
            json_object_set_new(object, "most_reserved", most_reserved(analysis, device));
        }
        json_object_set_new(object, "precision", mt_json_precision(&device->precision));
        json_object_set_new(object, "balance", mt_json_balance(&device->balance));
        if (device->foreign_pool.bytes)
            json_object_set_new(object, "pool",
                                json_pack("{s:o, s:s, s:s, s:s, s:o}", "bytes",
                                          mt_json_number(device->foreign_pool.bytes), "package",
                                          device->foreign_pool.package, "setting",
                                          device->foreign_pool.setting, "place",
                                          device->foreign_pool.place, "pieces",
                                          mt_json_number(device->foreign_pool.pieces)));
        json_object_set_new(object, "serving", serving(&device->serving));
        json_object_set_new(object, "cache_room", cache_room(&device->cache_room));
        json_object_set_new(object, "private_pools", mt_json_private_pools(&device->private_pools));
        json_object_set_new(object, "cuda_pools", mt_json_cuda_pools(analysis, device));
        if (analysis->replay.question.by != MT_BY_SITE)
            json_object_set_new(object, "groups",
                                groups(analysis->replay.definitions, device,
                                       analysis->replay.question.by,
                                       &analysis->replay.question.filter));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *out_of_memory(const struct mt_replay *replay)
{
    json_t *array = json_array();
    for (uint64_t i = mt_replay_first_oom(replay); i < replay->ooms.n; i++) {
        const struct mt_oom *oom = &replay->ooms.kept[i % MT_OOMS_KEPT];
        json_array_append_new(
            array,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "device", mt_json_index(oom->device),
                      "time_ns", mt_json_number(oom->time_ns), "requested",
                      mt_json_number(oom->wanted), "allocated", mt_json_number(oom->allocated),
                      "reserved", mt_json_number(oom->reserved), "line",
                      mt_json_frame(replay->definitions, mt_oom_line(replay->definitions, oom))));
    }
    return array;
}

static json_t *oddities(const struct mt_oddities *oddities)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "allocated_twice", mt_json_number(oddities->replaced),
                     "freed_unknown", mt_json_number(oddities->unknown), "freed_with_other_size",
                     mt_json_number(oddities->wrong_size), "total_differs",
                     mt_json_number(oddities->drift));
}

/* The most lines that JSON names; the totals have all. */
enum { LINES_NAMED = 100 };

static json_t *unsimulated(const struct mt_replay *replay)
{
    const struct mt_unsimulated *unknown = &replay->unsimulated;
    json_t *lines = json_array();
    for (size_t i = 0; i < unknown->n && i < LINES_NAMED; i++) {
        const struct mt_unsimulated_line *line = &unknown->line[i];
        json_array_append_new(lines, json_pack("{s:o, s:o, s:o, s:o}", "line",
                                               mt_json_frame(replay->definitions, line->stack),
                                               "sizes", mt_json_number(line->sizes), "integers",
                                               mt_json_number(line->numbers), "reals",
                                               mt_json_number(line->reals)));
    }
    char cudnn[MT_CUDNN_TEXT];
    mt_cudnn_text(cudnn, unknown, replay->definitions);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "sizes", mt_json_number(unknown->sizes), "integers",
        mt_json_number(unknown->numbers), "reals", mt_json_number(unknown->reals), "workspaces",
        mt_json_number(unknown->workspaces), "fastest_workspaces",
        mt_json_number(unknown->fastest_workspaces), "workspaces_by", cudnn, "lines", lines);
}

json_t *mt_report_object(const struct mt_analysis *analysis)
{
    const struct mt_survey *survey = &analysis->replay.survey;
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o, s:b, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", "memtap.report/1",
        "events", mt_json_number(survey->events), "bytes", mt_json_number(survey->bytes), "lost",
        mt_json_number(mt_survey_lost(survey)), "complete", survey->complete, "length_ns",
        mt_json_number(mt_survey_length_ns(survey)), "at",
        mt_moment_name(analysis->replay.question.moment.kind), "process",
        mt_json_process(analysis->replay.definitions), "peak",
        peak(mt_analysis_main_device(analysis)), "devices", devices(analysis), "out_of_memory",
        out_of_memory(&analysis->replay), "oddities", oddities(&analysis->replay.oddities));
    struct mt_ended ended = mt_analysis_ended(analysis);
    json_object_set_new(object, "remark", mt_json_remark(analysis));
    json_object_set_new(object, "ended", mt_json_ended(&ended));
    json_object_set_new(object, "host", mt_json_host(analysis));
    json_object_set_new(object, "host_growth",
                        mt_json_growth(analysis->replay.definitions, &analysis->host_growth));
    json_object_set_new(object, "not_computed", unsimulated(&analysis->replay));
    json_object_set_new(
        object, "marks",
        mt_json_marks(analysis->replay.definitions, &analysis->replay.tracker.ranges));
    return object;
}

int mt_report_json(const struct mt_analysis *analysis, FILE *out)
{
    return mt_json_print(out, mt_report_object(analysis), 0);
}
