/* SPDX-License-Identifier: Apache-2.0 */
#include "advice.h"
#include "analyzer/support/grow.h"
#include "planner/changes/changes.h"
#include "planner/changes/kinds.h"
#include "planner/requests/recorded-conf.h"
#include "trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Settings that help against fragmentation, in the order in which they are tried; the first one that
 * fits is enough. */
static const char *const settings[] = {
    "expandable_segments:True",
    "garbage_collection_threshold:0.8",
    "max_split_size_mb:512",
    "max_split_size_mb:128",
    "roundup_power2_divisions:8",
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* The error of a trial that is no exact replay, as a part of the card. */
#define MODEL_ERROR 0.02

/* All that the trials of one story share. */
struct judge {
    struct mt_oom_story *story;
    const struct mt_asked *asked;
    struct mt_recording *recording;
    uint64_t event;        /* at which memory ran out */
    struct mt_trial trial; /* as recorded */
    bool is_exact;         /* the model failed where the program did, and nowhere else */
    bool *has_failed;      /* by request: it ran out of memory in the recorded run */
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

/* A request that ran out of memory is freed at its own event. */
static bool failed(const struct mt_asked *asked, size_t i)
{
    return i + 1 < asked->n && asked->request[i].kind == MT_REQUEST_ALLOCATE &&
           asked->request[i + 1].kind == MT_REQUEST_FREE &&
           asked->request[i].block == asked->request[i + 1].block &&
           asked->recorded[i].event == asked->recorded[i + 1].event;
}

/* The last request that failed, and how many came before and with it; 0: none. */
static size_t find_last(const struct mt_asked *asked)
{
    size_t i = asked->n;
    while (i && !failed(asked, i - 1))
        i--;
    return i;
}

/* 0, -ENOENT where the release is unknown, -EINVAL where it refuses the settings. */
static int read_settings(struct judge *judge, const struct mt_definitions *definitions)
{
    struct mt_alloc_conf_error error;
    const char *torch = mt_info(definitions, "torch"), *conf = mt_recorded_conf(definitions);
    mt_alloc_conf_init(&judge->trial.conf);
    if (!torch || !mt_torch_read_release(torch, &judge->trial.release))
        return -ENOENT;
    judge->story->variable = mt_torch_variable(judge->trial.release);
    return conf ? mt_alloc_conf_read(&judge->trial.conf, judge->trial.release, conf, &error) : 0;
}

/* 0; -ENOMEM; -ENOENT: the trace does not allow a replay. */
static int begin(struct judge *judge, const struct mt_analysis *analysis)
{
    struct mt_trial_result result;
    const struct mt_asked *asked = judge->asked;
    judge->trial.n = find_last(asked);
    if (mt_compact_of(analysis->replay.definitions) || !judge->trial.n || !asked->card ||
        asked->from_before || judge->trial.conf.async)
        return -ENOENT;
    judge->event = asked->recorded[judge->trial.n - 1].event;
    judge->trial.request = asked->request;
    judge->has_failed = calloc(judge->trial.n, sizeof *judge->has_failed);
    if (!judge->has_failed)
        return -ENOMEM;
    for (size_t i = 0; i < judge->trial.n; i++)
        judge->has_failed[i] = failed(asked, i);
    judge->trial.has_failed = judge->has_failed;
    int rc = mt_trial_run(&judge->trial, asked->card, &result);
    judge->is_exact = !rc && result.is_recorded && !asked->unknown;
    return rc == -EINVAL ? -ENOENT : rc;
}

/* Try a card that is smaller and one that is larger by `error` of it. Only what holds on both is known. */
static int try(const struct judge *judge, const struct mt_trial *trial, double error,
               struct mt_advice *advice)
{
    struct mt_trial_result low, high;
    uint64_t card = judge->asked->card, off = (uint64_t)((double)card * error);
    int rc = mt_trial_run(trial, card - off, &low);
    high = low;
    if (!rc && off)
        rc = mt_trial_run(trial, card + off, &high);
    if (rc)
        return rc == -EINVAL ? 0 : rc;
    if (low.fits == high.fits)
        advice->served = low.fits ? MT_SERVED_YES : MT_SERVED_NO;
    return 0;
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

/* The first one is told in any case, the others where they help and it does not. */
static int try_settings(struct judge *judge)
{
    int rc = 0;
    bool is_enough = false;
    drop_unproven(judge->story);
    for (size_t i = 0; !rc && !is_enough && i < N_SETTINGS; i++) {
        struct mt_alloc_conf_error error;
        struct mt_trial trial = judge->trial;
        struct mt_advice advice = {
            .what = settings[i], .change = "set", .set = settings[i], .is_replayed = judge->is_exact};
        if (mt_alloc_conf_read(&trial.conf, trial.release, settings[i], &error) ||
            !memcmp(&trial.conf, &judge->trial.conf, sizeof trial.conf))
            continue;
        rc = try(judge, &trial, judge->is_exact ? 0 : MODEL_ERROR, &advice);
        is_enough = advice.served == MT_SERVED_YES;
        if (is_enough || i == 0)
            put_first(judge->story, &advice);
        if (i == 0)
            judge->story->would_fit_expandable = is_enough;
    }
    return rc;
}

/* Add the request that failed to the recorded blocks. Its phase tells the category. */
static int add_failed(struct judge *judge)
{
    struct mt_recording *recording = judge->recording;
    const struct mt_oom_story *story = judge->story;
    enum mt_phase phase = story->span ? (enum mt_phase)story->span->phase : MT_PHASE_OUTSIDE;
    if (mt_grow(&recording->block, &recording->capacity, recording->n + 1, sizeof *recording->block))
        return -ENOMEM;
    size_t at = recording->n;
    while (at && recording->block[at - 1].begin > judge->event)
        at--;
    memmove(recording->block + at + 1, recording->block + at,
            (recording->n - at) * sizeof *recording->block);
    recording->block[at] = (struct mt_recorded_block){
        .begin = judge->event,
        .end = MT_EVER,
        .size = story->oom->wanted,
        .device = (int16_t)recording->device,
        .step = phase == MT_PHASE_STEP,
        .phase = (uint8_t)phase,
        .category = phase == MT_PHASE_FORWARD ? MT_CATEGORY_ACTIVATIONS : MT_CATEGORY_TEMPORARIES};
    recording->n++;
    return 0;
}

static int try_edits(const struct judge *judge, const struct mt_edits *edits,
                     const struct mt_modelled *change, struct mt_advice *advice)
{
    struct mt_trial trial = judge->trial;
    struct mt_request *request = NULL;
    int rc = mt_trial_edited(judge->asked, edits, judge->event, &request, &trial.n);
    trial.request = request;
    trial.has_failed = NULL;
    double peak = (double)judge->story->oom->allocated / (double)judge->asked->card;
    if (!rc)
        rc = try(judge, &trial, peak * change->kind->error / 1000, advice);
    free(request);
    return rc;
}

/* Try once more with inputs and blocks that outlive a step as large as recorded: inputs are a guess, and
 * the program may store such blocks, so that the batch does not tell their size. Only what holds in
 * both cases is known. */
static int try_without_guesses(const struct judge *judge, struct mt_edits *edits,
                               const struct mt_modelled *change, struct mt_advice *advice)
{
    const struct mt_recording *recording = judge->recording;
    struct mt_advice other = *advice;
    bool is_any = false;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (edits->block[i].size != block->size &&
            (block->category == MT_CATEGORY_INPUTS || block->category == MT_CATEGORY_OTHER ||
             mt_outlives_step(recording, block))) {
            edits->block[i].size = block->size;
            is_any = true;
        }
    }
    int rc = is_any ? try_edits(judge, edits, change, &other) : 0;
    if (!rc && is_any && other.served != advice->served)
        advice->served = MT_SERVED_UNKNOWN;
    return rc;
}

static int try_change(const struct judge *judge, const char *name, struct mt_advice *advice)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    int rc = mt_edits_begin(&edits, judge->recording);
    if (!rc)
        rc = mt_change_apply(&edits, name, &change);
    if (!rc)
        rc = try_edits(judge, &edits, &change, advice);
    if (!rc && !strcmp(change.kind->name, "batch"))
        rc = try_without_guesses(judge, &edits, &change, advice);
    mt_edits_clear(&edits);
    return rc == -ENOENT || rc == -EINVAL ? 0 : rc;
}

/* Try the modules that are likeliest to be checkpointed until one helps. */
static int try_checkpoints(const struct judge *judge, struct mt_advice *advice)
{
    struct mt_module_patterns patterns;
    int rc = mt_module_patterns_find(&patterns, judge->recording);
    for (size_t i = 0; !rc && i < patterns.n && advice->served != MT_SERVED_YES; i++) {
        char name[MT_CHANGE_NAME];
        snprintf(name, sizeof name, "checkpoint:%s", patterns.pattern[i]);
        rc = try_change(judge, name, advice);
    }
    return rc;
}

static int try_changes(struct judge *judge)
{
    struct mt_oom_story *story = judge->story;
    int rc = add_failed(judge);
    for (size_t i = 0; !rc && i < story->n_advice; i++) {
        struct mt_advice *advice = &story->advice[i];
        if (!strcmp(advice->change, "checkpoint"))
            rc = try_checkpoints(judge, advice);
        else if (!advice->set)
            rc = try_change(judge, advice->change, advice);
    }
    return rc;
}

static int find_card(struct judge *judge)
{
    uint64_t enough;
    int rc = judge->is_exact ? mt_trial_card(&judge->trial, judge->asked->card, &enough) : -ENOENT;
    if (!rc && enough)
        judge->story->more = enough - judge->asked->card;
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
    struct judge judge = {.story = story, .recording = &advisor->recording};
    if (read_settings(&judge, analysis->replay.definitions) || advisor->is_too_long ||
        story->oom->of_cuda)
        return 0;
    judge.asked = asked_of(advisor, story->oom->device);
    int rc = judge.asked ? begin(&judge, analysis) : -ENOENT;
    if (!rc)
        rc = find_card(&judge);
    if (!rc)
        rc = mt_recording_finish(&advisor->recording, &analysis->replay, story->oom->device);
    if (!rc)
        rc = try_changes(&judge);
    if (!rc)
        rc = try_settings(&judge);
    free(judge.has_failed);
    return rc == -ENOENT ? 0 : rc;
}
