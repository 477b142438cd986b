/* SPDX-License-Identifier: Apache-2.0 */
#include "advice.h"
#include "cut.h"
#include "failed.h"
#include "judge.h"
#include "planner/changes/changes.h"
#include "planner/changes/kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Settings that help against fragmentation, in the order in which they are tried; the first one
 * that fits is enough. */
static const char *const settings[] = {
    "expandable_segments:True", "garbage_collection_threshold:0.8", "max_split_size_mb:512",
    "max_split_size_mb:128",    "roundup_power2_divisions:8",
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

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
                  const struct mt_rule *rule, int at_end)
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
    const struct mt_asked *asked = judge->asked;
    const struct mt_oom_story *story = adviser->story;
    judge->trial.n = mt_failed_last(asked);
    if (mt_compact_of(analysis->replay.definitions) || !judge->trial.n || !asked->card ||
        asked->from_before || judge->trial.conf.async)
        return -ENOENT;
    judge->event = asked->recorded[judge->trial.n - 1].event;
    judge->card = asked->card;
    judge->live = story->oom->allocated;
    judge->unused = story->cached + story->on_card;
    judge->trial.request = asked->request;
    adviser->has_failed = calloc(judge->trial.n, sizeof *adviser->has_failed);
    if (!adviser->has_failed)
        return -ENOMEM;
    for (size_t i = 0; i < judge->trial.n; i++)
        adviser->has_failed[i] = mt_failed(asked, i);
    judge->trial.has_failed = adviser->has_failed;
    int rc = mt_trial_run(&judge->trial, asked->card, &result);
    judge->is_exact = !rc && result.is_recorded && !asked->unknown;
    return rc == -EINVAL ? -ENOENT : rc;
}

static void put_first(struct mt_oom_story *story, const struct mt_advice *advice)
{
    if (story->n_advice == MT_ADVICE_KEPT)
        story->n_advice--;
    memmove(story->advice + 1, story->advice, story->n_advice * sizeof *advice);
    story->advice[0] = *advice;
    story->n_advice++;
}

/* Drop the setting that the analysis proposes without a replay. */
static void drop_unproven(struct mt_oom_story *story)
{
    size_t n = 0;
    for (size_t i = 0; i < story->n_advice; i++)
        if (!story->advice[i].set)
            story->advice[n++] = story->advice[i];
    story->n_advice = n;
}

/* Return whether the run's settings have it: with it they are the same. */
static bool is_in_force(const struct mt_trial *trial, const char *setting)
{
    struct mt_alloc_conf_error error;
    struct mt_alloc_conf both = trial->conf;
    return !mt_alloc_conf_read(&both, trial->release, setting, &error) &&
           !memcmp(&both, &trial->conf, sizeof both);
}

/* Try the settings: the first one is told in any case, the others where they help and it does not.
 */
static int try_settings(struct adviser *adviser)
{
    int rc = 0;
    bool is_enough = false;
    const struct mt_trial *trial = &adviser->judge.trial;
    drop_unproven(adviser->story);
    for (size_t i = 0; !rc && !is_enough && i < N_SETTINGS; i++) {
        struct mt_alloc_conf_error error;
        struct mt_alloc_conf conf;
        struct mt_judgement judgement = {0};
        mt_alloc_conf_init(&conf);
        if (mt_alloc_conf_read(&conf, trial->release, settings[i], &error) ||
            is_in_force(trial, settings[i]))
            continue;
        rc = mt_judge_setting(&adviser->judge, &conf, &judgement);
        is_enough = judgement.served == MT_SERVED_YES;
        if (is_enough || i == 0)
            put_first(adviser->story, &(struct mt_advice){.what = settings[i],
                                                          .change = "set",
                                                          .set = settings[i],
                                                          .served = judgement.served,
                                                          .reach = judgement.reach,
                                                          .is_replayed = judgement.is_replayed});
        if (i == 0)
            adviser->story->would_fit_expandable = is_enough;
    }
    return rc;
}

/* Return whether the run comes as far as is known with it. */
static bool is_enough(const struct mt_judge *judge, const struct mt_advice *advice)
{
    return advice->served == MT_SERVED_YES && (!judge->rest || advice->reach >= judge->rest->known);
}

/* Try the modules that are likeliest to be checkpointed until one helps; else name, of those that
 * may, the ones that save most. */
static int try_checkpoints(struct adviser *adviser, struct mt_advice *advice)
{
    struct mt_module_patterns patterns;
    uint64_t least = UINT64_MAX;
    bool is_unknown = false;
    int rc = mt_module_patterns_find(&patterns, adviser->recording);
    for (size_t i = 0; !rc && i < patterns.n && !is_enough(&adviser->judge, advice); i++) {
        char name[MT_CHANGE_NAME];
        struct mt_judgement judgement;
        struct mt_modelled change = {.peak = UINT64_MAX};
        snprintf(name, sizeof name, "checkpoint:%s", patterns.pattern[i]);
        rc = mt_judge_change(&adviser->judge, name, NULL, &judgement);
        bool is_better = judgement.served == MT_SERVED_YES &&
                         (advice->served != MT_SERVED_YES || judgement.reach > advice->reach);
        if (!rc && judgement.served == MT_SERVED_UNKNOWN)
            rc = mt_modelled_of(&change, adviser->recording, name);
        is_unknown |= judgement.served == MT_SERVED_UNKNOWN;
        if (is_better ||
            (advice->served != MT_SERVED_YES && !change.why_not && change.peak < least))
            snprintf(advice->modules, sizeof advice->modules, "%s", patterns.pattern[i]);
        if (is_better || advice->served != MT_SERVED_YES) {
            advice->served = judgement.served;
            advice->reach = judgement.reach;
        }
        if (!change.why_not && change.peak < least)
            least = change.peak;
    }
    if (is_unknown && advice->served != MT_SERVED_YES)
        advice->served = MT_SERVED_UNKNOWN;
    return rc;
}

/* Go on: from here on the run goes on after the request that failed, as far as that can be
 * modelled. */
static int go_on(struct adviser *adviser)
{
    struct mt_oom_story *story = adviser->story;
    struct mt_judge *judge = &adviser->judge;
    const struct mt_rest *rest = &adviser->cut.rest;
    enum mt_phase phase = story->span ? (enum mt_phase)story->span->phase : MT_PHASE_OUTSIDE;
    int rc = mt_failed_add(adviser->recording, judge->event, story->oom->wanted, phase);
    if (!rc)
        rc = mt_cut_extend(&adviser->cut, adviser->recording, judge->asked);
    if (rc || !rest->known)
        return rc;
    bool *has_failed = realloc(adviser->has_failed, adviser->cut.asked.n * sizeof *has_failed);
    if (!has_failed)
        return -ENOMEM;
    adviser->has_failed = has_failed;
    mt_cut_judge(&adviser->cut, judge, has_failed);
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
    if (rest->known > MT_REACH_REQUEST)
        rc = mt_judge_card(judge, "", NULL, &enough);
    story->rest.more = !rc && enough ? enough - judge->card : 0;
    return rc == -ENOMEM ? rc : 0;
}

static void drop_advice(struct mt_oom_story *story, size_t i)
{
    story->n_advice--;
    memmove(story->advice + i, story->advice + i + 1,
            (story->n_advice - i) * sizeof *story->advice);
}

static int try_changes(struct adviser *adviser)
{
    struct mt_oom_story *story = adviser->story;
    int rc = 0;
    for (size_t i = 0; !rc && i < story->n_advice; i++) {
        struct mt_advice *advice = &story->advice[i];
        struct mt_judgement judgement = {0};
        if (!strcmp(advice->change, "checkpoint")) {
            rc = try_checkpoints(adviser, advice);
            if (!*advice->modules) /* no module is left that is not checkpointed */
                drop_advice(story, i--);
        } else if (!advice->set) {
            rc = mt_judge_change(&adviser->judge, advice->change, NULL, &judgement);
            advice->served = judgement.served;
            advice->reach = judgement.reach;
        }
    }
    return rc;
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

static const struct mt_asked *asked_of(struct mt_advisor *advisor, int device)
{
    size_t n;
    const struct mt_asked *asked = mt_gathering_finish(advisor->gathering, &n);
    for (size_t i = 0; asked && i < n; i++)
        if (asked[i].device == device)
            return &asked[i];
    return NULL;
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
    judge->asked = asked_of(advisor, story->oom->device);
    int rc = judge->asked ? begin(&adviser, analysis) : -ENOENT;
    if (!rc)
        rc = find_card(&adviser);
    if (!rc)
        rc = try_without_limit(&adviser);
    if (!rc)
        rc = mt_recording_finish(&advisor->recording, &analysis->replay, story->oom->device);
    if (!rc)
        rc = go_on(&adviser);
    if (!rc)
        rc = try_changes(&adviser);
    if (!rc)
        rc = try_settings(&adviser);
    mt_cut_clear(&adviser.cut);
    free(adviser.has_failed);
    return rc == -ENOENT ? 0 : rc;
}
