/* SPDX-License-Identifier: Apache-2.0 */
/* A trace through memtap plan, memtap oom and what they replay and model. */
#include "analyzer/report/oom-report.h"
#include "made-trace.h"
#include "outputs.h"
#include "planner/advice/answer.h"
#include "planner/advice/oom-advice.h"
#include "planner/advice/plan-report.h"
#include "planner/requests/recorded-conf.h"
#include "planner/rest/cut.h"
#include "target.h"

#include <errno.h>
#include <stdlib.h>

static const char *const confs[] = {"",
                                    "expandable_segments:True",
                                    "max_split_size_mb:64",
                                    "garbage_collection_threshold:0.6",
                                    "backend:cudaMallocAsync",
                                    "roundup_power2_divisions:4"};
static const char *const changes[] = {
    "batch:1/2",
    "sequence:1/2",
    "precision:autocast",
    "precision:bf16",
    "checkpoint:*",
    "checkpoint:layers.*",
    "lora:16",
    "optimizer:adamw-for-loop",
    "optimizer:adam8bit",
    "optimizer:adafactor",
    "optimizer:sgd-momentum",
    "zero1:8",
    "zero2:2",
    "zero3:8",
    "offload:optimizer",
    "offload:activations",
    "offload:parameters",
    "zero3:4+precision:autocast+checkpoint:layers.*",
    "batch:1/3+optimizer:sgd+lora:4",
};

static bool is_bad(int rc)
{
    return rc && rc != -EINVAL && rc != -ENOENT;
}

struct seen {
    struct mt_gathering *gathering;
    struct mt_recording recording;
    struct mt_watcher watcher;
};

/* As memtap plan does. */
static int see(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct seen *seen = data;
    int rc = mt_gather(seen->gathering, replay, event);
    return rc ? rc : seen->recording.watcher.saw(&seen->recording, replay, event);
}

static void answer(const struct mt_plan *plan, struct seen *seen, const struct mt_cut_run *cut,
                   const struct mt_modelled_changes *modelled)
{
    struct mt_plan_answer answer = {0};
    if (mt_answer_make(&answer, plan, cut->rest.known ? cut : NULL, &seen->recording, modelled))
        abort();
    mt_answer_text(&answer, false, mt_safe_output(), &mt_plain_style);
    json_decref(mt_answer_json(&answer));
    mt_answer_clear(&answer);
}

static void model(const struct mt_plan *plan, const struct mt_analysis *analysis, struct seen *seen,
                  unsigned choice)
{
    struct mt_modelled_changes modelled = {0};
    struct mt_cut_run cut = {0};
    if (mt_recording_finish(&seen->recording, &analysis->replay, plan->requests->device) ||
        mt_failed_add_all(&seen->recording, plan->requests) ||
        mt_cut_extend(&cut, &seen->recording, plan->requests))
        abort();
    modelled.rest = cut.rest.known ? &cut.rest : NULL;
    int rc = choice & 1 ? mt_modelled_add_usual(&modelled, &seen->recording) : 0;
    for (size_t i = 0; !(choice & 1) && i < sizeof changes / sizeof *changes; i++)
        if (is_bad(mt_modelled_add(&modelled, &seen->recording, changes[i])))
            abort();
    if (rc)
        abort();
    mt_modelled_sort(&modelled);
    answer(plan, seen, &cut, &modelled);
    mt_modelled_text(mt_safe_output(), &modelled, &mt_plain_style);
    json_decref(mt_modelled_json(&modelled));
    mt_modelled_clear(&modelled);
    mt_cut_clear(&cut);
}

static void plan_one(struct mt_plan *plan, const struct mt_analysis *analysis,
                     const struct mt_requests *requests, const uint8_t *choices)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    struct mt_alloc_conf_error error = {""};
    size_t wrong = 0;
    struct mt_plan_question question = {
        .torch = mt_info(d, "torch"),
        .conf = mt_recorded_conf(d),
        .wanted = confs,
        .n_wanted = choices[1] & 1 ? sizeof confs / sizeof *confs : 0,
        .card = {"card", choices[1] & 2 ? mt_made_number(choices[2] | choices[3] << 8) : 0}};
    int rc = mt_plan_make(plan, requests, &question, &wrong, &error);
    if (rc && (rc != -EINVAL))
        abort();
}

static void plan_all(const struct mt_analysis *analysis, struct seen *seen, const uint8_t *choices)
{
    size_t n;
    const struct mt_requests *requests = mt_gathering_finish(seen->gathering, &n);
    struct mt_plan *plans = calloc(n + 1, sizeof *plans);
    for (size_t i = 0; i < n; i++)
        plan_one(&plans[i], analysis, &requests[i], choices);
    bool is_sound = n;
    for (size_t i = 0; i < n; i++)
        is_sound = is_sound && plans[i].requests;
    if (is_sound) {
        model(mt_plan_main(plans, n), analysis, seen, choices[4]);
        mt_plan_text(plans, n, analysis, mt_safe_output(), &mt_plain_style);
        if (mt_plan_json(plans, n, analysis, json_null(), json_null(), mt_safe_output()))
            abort();
    }
    for (size_t i = 0; i < n; i++)
        mt_plan_clear(&plans[i]);
    free(plans);
}

static void plan(const uint8_t *choices)
{
    struct mt_analysis analysis;
    struct mt_question question = {0};
    struct seen seen = {.gathering = mt_gathering_create()};
    mt_recording_watch(&seen.recording, &question);
    seen.watcher = (struct mt_watcher){see, &seen};
    question.watcher = &seen.watcher;
    if (!mt_analysis_create(&analysis, "0", &question))
        plan_all(&analysis, &seen, choices);
    mt_analysis_destroy(&analysis);
    mt_gathering_destroy(seen.gathering);
    mt_recording_clear(&seen.recording);
}

/* As memtap oom does. */
static void explain(void)
{
    static struct mt_advisor advisor;
    struct mt_analysis analysis;
    struct mt_oom_story story;
    struct mt_question question = {.moment = {MT_AT_OOM, 0}};
    if (mt_advisor_watch(&advisor, &question))
        abort();
    int rc = mt_analysis_create(&analysis, "0", &question);
    if (!rc && !mt_oom_explain(&story, &analysis)) {
        if (mt_advise(&advisor, &analysis, &story))
            abort();
        mt_oom_text(&story, &analysis, mt_safe_output(), &mt_plain_style);
        if (mt_oom_json(&story, &analysis, mt_safe_output()) == -ENOMEM)
            abort();
    }
    mt_analysis_destroy(&analysis);
    mt_advisor_clear(&advisor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_made_trace trace;
    if (mt_made_trace_read(&trace, bytes, size))
        return 0;
    mt_made_traces[0] = &trace;
    if (trace.choices[0] % 3)
        plan(trace.choices);
    else
        explain();
    return 0;
}
