/* SPDX-License-Identifier: Apache-2.0 */
#include "oom-advice.h"
#include "analyzer/support/to-integer.h"
#include "answer.h"
#include "judge.h"
#include "planner/requests/recorded-conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A story, and what judges its advice. */
struct adviser {
    struct mt_oom_story *story;
    struct mt_recording *recording;
    struct mt_judge judge;
    struct mt_cut_run cut;
    bool *has_failed; /* by request: it ran out of memory in the recorded run */
};

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_advisor *advisor = data;
    if (advisor->is_too_long)
        return 0;
    advisor->is_too_long = replay->events > MT_ADVISOR_EVENTS;
    int rc = mt_gather(advisor->gathering, replay, event);
    return rc ? rc : advisor->recording.watcher.saw(&advisor->recording, replay, event);
}

static void ended(void *data, const struct mt_replay *replay, const struct mt_block *block,
                  const struct mt_rule *rule, bool at_end)
{
    struct mt_advisor *advisor = data;
    if (!advisor->is_too_long)
        advisor->recording.lives.ended(&advisor->recording, replay, block, rule, at_end);
}

int mt_advisor_watch(struct mt_advisor *advisor, struct mt_question *question)
{
    advisor->gathering = mt_gathering_create();
    if (!advisor->gathering)
        return -ENOMEM;
    mt_recording_watch(&advisor->recording, question);
    advisor->watcher = (struct mt_watcher){saw, advisor};
    advisor->lives = (struct mt_life_watcher){ended, advisor};
    question->watcher = &advisor->watcher;
    question->lives = &advisor->lives;
    return 0;
}

void mt_advisor_clear(struct mt_advisor *advisor)
{
    mt_gathering_destroy(advisor->gathering);
    mt_recording_clear(&advisor->recording);
    *advisor = (struct mt_advisor){0};
}

/* Return 0; -ENOMEM; -ENOENT: the trace does not allow a replay. */
static int begin(struct adviser *adviser, const struct mt_analysis *analysis)
{
    struct mt_trial_result result;
    struct mt_judge *judge = &adviser->judge;
    const struct mt_requests *requests = judge->requests;
    const struct mt_oom_story *story = adviser->story;
    judge->trial.n = mt_failed_last(requests);
    if (mt_compact_of(analysis->replay.definitions) || !judge->trial.n || !requests->card ||
        requests->from_before || judge->trial.conf.async)
        return -ENOENT;
    judge->event = requests->recorded[judge->trial.n - 1].event;
    judge->card = requests->card;
    judge->live = story->oom->allocated;
    judge->unused = story->cached + story->on_card;
    judge->trial.request = requests->request;
    judge->trial.has_streams = requests->others_streams;
    adviser->has_failed = calloc(judge->trial.n, sizeof *adviser->has_failed);
    if (!adviser->has_failed)
        return -ENOMEM;
    for (size_t i = 0; i < judge->trial.n; i++)
        adviser->has_failed[i] = mt_failed(requests, i);
    judge->trial.has_failed = adviser->has_failed;
    int rc = mt_trial_run(&judge->trial, requests->card, &result);
    judge->is_exact = !rc && result.is_recorded && !requests->unknown && !requests->is_late;
    return rc == -EINVAL ? -ENOENT : rc;
}

/* Return whether the program went on after a request that failed before the last one. */
static bool went_on(const struct mt_judge *judge, const bool *has_failed)
{
    size_t i = 0, last = judge->trial.n;
    while (last && i + 1 < last && !has_failed[i])
        i++;
    return last && i + 1 < last;
}

/* Go on: what follows the request that failed, as far as that is modelled. After an earlier error,
 * which a larger card would have spared it, the program would do something else. */
static int go_on(struct adviser *adviser)
{
    struct mt_oom_story *story = adviser->story;
    struct mt_judge *judge = &adviser->judge;
    const struct mt_rest *rest = &adviser->cut.rest;
    bool would_differ = went_on(judge, adviser->has_failed);
    if (!rest->known)
        return 0;
    bool *has_failed = realloc(adviser->has_failed, adviser->cut.requests.n * sizeof *has_failed);
    if (!has_failed)
        return -ENOMEM;
    adviser->has_failed = has_failed;
    mt_judge_cut(judge, &adviser->cut, has_failed);
    story->rest = (struct mt_oom_rest){.known = rest->known,
                                       .layers = rest->layers,
                                       .seen = rest->seen,
                                       .state = rest->state,
                                       .passing = rest->passing,
                                       .is_in_step = rest->is_in_step,
                                       .evaluates = rest->evaluates,
                                       .supposes_adam = rest->supposes_adam,
                                       .is_first = rest->is_first,
                                       .handles = rest->handles};
    uint64_t enough = 0;
    int rc = 0;
    bool is_rough = rest->ends[MT_REACH_BACKWARD] && !rest->layers; /* no promise is kept then */
    if (rest->known > MT_REACH_REQUEST && !would_differ && !is_rough)
        rc = mt_judge_card(judge, "", NULL, &enough);
    /* The rest of forward and backward may take more than modelled; what a step requests is known.
     */
    bool is_modelled = rest->ends[MT_REACH_FORWARD] || rest->ends[MT_REACH_BACKWARD];
    uint64_t off = is_modelled ? mt_to_uint64((double)judge->live * MT_CUT_ERROR) : 0;
    story->rest.more = !rc && enough ? enough - judge->card + off : 0;
    if (!rc && story->rest.more && rest->supposes_adam && rest->ends[MT_REACH_BACKWARD]) {
        judge->event = rest->ends[MT_REACH_BACKWARD];
        rc = mt_judge_card(judge, "", NULL, &enough);
        judge->event = rest->last;
        story->rest.of_backward = !rc && enough ? enough - judge->card + off : 0;
    }
    return rc == -ENOMEM ? rc : 0;
}

static int find_card(struct adviser *adviser)
{
    uint64_t enough;
    const struct mt_judge *judge = &adviser->judge;
    int rc = judge->is_exact ? mt_trial_card(&judge->trial, judge->card, &enough) : -ENOENT;
    if (!rc && enough)
        adviser->story->more = enough - judge->card;
    return rc == -ENOMEM ? rc : 0;
}

/* Return whether the request is served if the program may take the whole card. */
static int try_without_limit(struct adviser *adviser)
{
    struct mt_trial trial = adviser->judge.trial;
    struct mt_trial_result result;
    struct mt_request *request;
    if (!adviser->story->limit || !adviser->judge.is_exact)
        return 0;
    request = malloc(trial.n * sizeof *request);
    if (!request)
        return -ENOMEM;
    memcpy(request, trial.request, trial.n * sizeof *request);
    for (size_t i = 0; i < trial.n; i++)
        if (request[i].kind == MT_REQUEST_FRACTION)
            request[i].kind = MT_REQUEST_MARK;
    trial.request = request;
    trial.conf.memory_fraction = 1;
    int rc = mt_trial_run(&trial, adviser->judge.card, &result);
    free(request);
    if (!rc)
        adviser->story->without_limit = result.fits ? MT_SERVED_YES : MT_SERVED_NO;
    return rc == -ENOMEM ? rc : 0;
}

static const struct mt_requests *requests_of(struct mt_advisor *advisor, int device)
{
    size_t n;
    const struct mt_requests *requests = mt_gathering_finish(advisor->gathering, &n);
    for (size_t i = 0; requests && i < n; i++)
        if (requests[i].device == device)
            return &requests[i];
    return NULL;
}

static const char expandable[] = "expandable_segments:True";

/* Return whether the run's settings have it: with it they are the same. */
static bool is_in_force(const struct mt_trial *trial, const char *setting)
{
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf both = trial->conf;
    return !mt_alloc_conf_read(&both, trial->release, setting, &error) &&
           !memcmp(&both, &trial->conf, sizeof both);
}

/* Find whether expandable segments serve the request: which is reported in any case. */
static int try_expandable(struct adviser *adviser, struct mt_advice *advice)
{
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf conf;
    struct mt_judgement judgement = {0};
    const struct mt_trial *trial = &adviser->judge.trial;
    *advice = (struct mt_advice){0};
    mt_alloc_conf_init(&conf);
    if (mt_alloc_conf_read(&conf, trial->release, expandable, &error) ||
        is_in_force(trial, expandable))
        return 0;
    int rc = mt_judge_setting(&adviser->judge, &conf, &judgement);
    adviser->story->would_fit_expandable = judgement.served == MT_SERVED_YES;
    *advice = (struct mt_advice){
        .served = judgement.served, .reach = judgement.reach, .is_replayed = judgement.is_replayed};
    snprintf(advice->what, sizeof advice->what, "%s", expandable);
    snprintf(advice->change, sizeof advice->change, "set");
    snprintf(advice->set, sizeof advice->set, "%s", expandable);
    return rc;
}

/* Tell a way as advice. */
static void add_way(struct mt_oom_story *story, const struct mt_plan_answer *answer,
                    const struct mt_modelled_changes *changes, const struct mt_way *way)
{
    struct mt_way_words words;
    if (story->n_advice == MT_ADVICE_KEPT)
        return;
    struct mt_advice *advice = &story->advice[story->n_advice++];
    bool is_set = way->has_conf && !*way->change;
    mt_way_words(&words, answer, way);
    *advice = (struct mt_advice){.bytes = mt_answer_saves(changes, way->change),
                                 .served = way->request,
                                 .reach = way->reach,
                                 .is_replayed = way->is_replayed};
    if (mt_way_is_batch(way)) {
        advice->least_batch = (double)answer->largest.least / MT_BATCH_PARTS;
        advice->about_batch = (double)answer->largest.about / MT_BATCH_PARTS;
    }
    for (size_t i = 0, used = 0; i < words.n && used < sizeof advice->what; i++)
        used += (size_t)snprintf(advice->what + used, sizeof advice->what - used, "%s%s",
                                 i ? ", and " : "", words.action[i]);
    if (way->has_conf)
        snprintf(advice->set, sizeof advice->set, "%s", way->conf);
    snprintf(advice->change, sizeof advice->change, "%s", is_set ? "set" : way->change);
    char *colon = strchr(advice->change, ':');
    if (colon && !strchr(advice->change, '+') && !strncmp(advice->change, "checkpoint:", 11)) {
        snprintf(advice->modules, sizeof advice->modules, "%s", colon + 1);
        *colon = '\0';
    }
}

/* Fill in the story's advice: the ways that memtap plan has, in its order. */
static int find_ways(struct adviser *adviser, const struct mt_plan *plan,
                     const struct mt_modelled_changes *changes, const struct mt_cut_run *cut)
{
    struct mt_oom_story *story = adviser->story;
    struct mt_plan_answer answer;
    struct mt_advice other;
    bool has_other = false;
    int rc = mt_answer_make(&answer, plan, cut, adviser->recording, changes);
    if (!rc)
        rc = try_expandable(adviser, &other);
    story->n_advice = 0;
    for (size_t i = 0; !rc && i < answer.n; i++) {
        add_way(story, &answer, changes, &answer.way[i]);
        has_other |= !strcmp(answer.way[i].conf, expandable) && !*answer.way[i].change;
    }
    if (!rc && *other.what && !has_other && story->n_advice < MT_ADVICE_KEPT)
        story->advice[story->n_advice++] = other;
    mt_answer_clear(&answer);
    return rc;
}

/* Settings to try where there are so many requests that all of them take too long. */
static const char *const few_settings[] = {expandable, "max_split_size_mb:512",
                                           "max_split_size_mb:128", "roundup_power2_divisions:8"};
#define REQUESTS_MANY 300000u

static int find_advice(struct adviser *adviser, const struct mt_analysis *analysis)
{
    const struct mt_definitions *d = analysis->replay.definitions;
    const struct mt_requests *requests = adviser->judge.requests;
    struct mt_modelled_changes changes = {0};
    struct mt_alloc_conf_error error;
    struct mt_plan plan = {0};
    size_t wrong = 0;
    bool is_long = requests->n > REQUESTS_MANY;
    struct mt_plan_question question = {
        .torch = mt_info(d, "torch"),
        .conf = mt_recorded_conf(d),
        .wanted = is_long ? few_settings : NULL,
        .n_wanted = is_long ? sizeof few_settings / sizeof *few_settings : 0,
        .card = {.total = requests->knows_others ? 0 : requests->card}};
    int rc = mt_plan_make(&plan, requests, &question, &wrong, &error);
    if (!rc)
        rc = mt_answer_model(&changes, &adviser->cut, adviser->recording, &analysis->replay,
                             requests, &adviser->story->device->unneeded, NULL, 0, &wrong);
    if (!rc)
        rc = go_on(adviser);
    if (!rc)
        rc = find_ways(adviser, &plan, &changes, adviser->cut.rest.known ? &adviser->cut : NULL);
    mt_modelled_clear(&changes);
    mt_plan_clear(&plan);
    return rc == -EINVAL ? -ENOENT : rc;
}

int mt_advise(struct mt_advisor *advisor, const struct mt_analysis *analysis,
              struct mt_oom_story *story)
{
    struct adviser adviser = {
        .story = story, .recording = &advisor->recording, .judge.recording = &advisor->recording};
    struct mt_judge *judge = &adviser.judge;
    if (mt_judge_settings(judge, analysis->replay.definitions) || advisor->is_too_long ||
        story->oom->of_cuda)
        return 0;
    story->variable = mt_torch_variable(judge->trial.release);
    judge->requests = requests_of(advisor, story->oom->device);
    int rc = judge->requests ? begin(&adviser, analysis) : -ENOENT;
    if (!rc)
        rc = find_card(&adviser);
    if (!rc)
        rc = try_without_limit(&adviser);
    if (!rc)
        rc = find_advice(&adviser, analysis);
    mt_cut_clear(&adviser.cut);
    free(adviser.has_failed);
    return rc == -ENOENT ? 0 : rc;
}
