/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analyzer/print/json.h"
#include "plan-report.h"

static json_t *where(const struct mt_plan *plan, const struct mt_plan_setting *setting,
                     const struct mt_analysis *analysis)
{
    char phase[MT_PLAN_PHASE];
    if (setting->fits || !setting->oom_at)
        return json_null();
    uint32_t line = mt_plan_line(analysis, setting->oom_at);
    mt_plan_phase(phase, analysis, plan->requests->device, setting->oom_at->event);
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "event", mt_json_number(setting->oom_at->event),
        "requested", mt_json_number(setting->oom.requested), "wanted",
        mt_json_number(setting->oom.wanted), "free_on_card", mt_json_number(setting->oom.card_free),
        "limit", mt_json_number_or_null(setting->oom.limit), "phase", mt_json_text(phase), "line",
        mt_json_frame(analysis->replay.definitions, line));
}

static json_t *setting_json(const struct mt_plan *plan, const struct mt_plan_setting *setting,
                            const struct mt_analysis *analysis)
{
    json_t *unused = json_array();
    for (unsigned i = 0; i < MT_PLAN_POINTS; i++)
        json_array_append_new(unused, mt_json_number(setting->unused[i]));
    json_t *fits = plan->card.total ? json_boolean(setting->fits) : json_null();
    json_t *lacks = setting->lacks_graphs ? json_string("memory of CUDA graphs") : json_null();
    return json_pack(
        "{s:o,s:o,s:o,s:s,s:b,s:o,s:o,s:o,s:o,s:o}", "conf", mt_json_text(setting->conf),
        "peak_reserved", mt_json_number(setting->peak_reserved), "fits", fits, "how",
        mt_plan_how(plan, setting), "recorded", setting->is_recorded, "peak_allocated",
        mt_json_number(setting->peak_allocated), "retries", mt_json_number(setting->retries),
        "unused", unused, "out_of_memory", where(plan, setting, analysis), "not_modelled", lacks);
}

static json_t *check_json(const struct mt_plan *plan)
{
    const struct mt_plan_check *check = &plan->check;
    const struct mt_requests *requests = plan->requests;
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b}", "out_of_memory",
                     mt_json_number(check->ooms), "out_of_memory_recorded",
                     mt_json_number(requests->ooms), "events", mt_json_number(check->compared),
                     "equal", mt_json_number(check->equal), "reserved_off_by",
                     mt_json_number(check->most), "first_event", mt_json_number(check->first_event),
                     "requests_unknown", mt_json_number(requests->unknown), "allocated_before",
                     mt_json_number(requests->from_before), "exact", plan->is_exact);
}

static json_t *plan_json(const struct mt_plan *plan, const struct mt_analysis *analysis)
{
    json_t *settings = json_array();
    for (size_t i = 0; i < plan->n; i++)
        json_array_append_new(settings, setting_json(plan, &plan->setting[i], analysis));
    json_t *by_program = json_array();
    for (size_t i = 0; i < plan->requests->n_confs; i++)
        json_array_append_new(by_program, mt_json_text(plan->requests->confs[i]));
    json_t *recorded =
        json_pack("{s:o,s:o,s:o,s:o}", "conf", mt_json_text(plan->conf), "set_by_program",
                  by_program, "peak_allocated", mt_json_number(plan->requests->peak_allocated),
                  "peak_reserved", mt_json_number(plan->requests->peak_reserved));
    json_t *floor = json_pack("{s:o,s:o}", "live", mt_json_number(plan->floor.live), "packing",
                              mt_json_number_or_null(plan->floor.packing));
    json_t *card = json_pack(
        "{s:o,s:o,s:o}", "name", plan->card.name ? mt_json_text(plan->card.name) : json_null(),
        "total", mt_json_number_or_null(plan->card.total), "others",
        plan->requests->knows_others ? mt_json_number(plan->requests->most_others) : json_null());
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:s}", "device",
                     mt_json_index(plan->requests->device), "recorded", recorded, "floor", floor,
                     "settings", settings, "card", card, "check", check_json(plan), "variable",
                     mt_plan_variable(plan));
}

int mt_plan_json(const struct mt_plan *plans, size_t n, const struct mt_analysis *analysis,
                 json_t *changes, json_t *answer, FILE *out)
{
    struct mt_ended ended = mt_analysis_ended(analysis);
    json_t *whole = json_object(), *all = json_array();
    json_object_set_new(whole, "schema", json_string("memtap.plan/1"));
    json_object_update_new(whole, plan_json(mt_plan_main(plans, n), analysis));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(all, plan_json(&plans[i], analysis));
    json_object_set_new(whole, "changes", changes ? changes : json_array());
    json_object_set_new(whole, "answer", answer ? answer : json_null());
    json_object_set_new(whole, "devices", all);
    json_object_set_new(whole, "ended", mt_json_ended(&ended));
    return mt_json_print(out, whole, 0);
}
