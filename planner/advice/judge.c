/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"
#include "analyzer/support/to-integer.h"
#include "planner/requests/recorded-conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The error of a trial that is no exact replay, as a part of the card. */
#define MODEL_ERROR 0.02

/* As a part of what the cache had to spare: an edited run's cache may have as much more in pieces.
 * Of the claims in docs/evaluation/advice.md the worst was off by 0.52 of it, the change's own
 * error included.
 */
#define UNUSED_ERROR 0.5

/* Two handles of cuBLAS, on an H100 or H200, which have the largest: one for each thread. */
#define MOST_HANDLES (2 * (UINT64_C(65) << 20))

/* A card that serves all is sought up to so much larger ones. */
#define DOUBLINGS 4

int mt_judge_settings(struct mt_judge *judge, const struct mt_definitions *definitions)
{
    struct mt_recorded_setup setup;
    mt_recorded_setup(&setup, definitions);
    judge->trial.conf = setup.conf;
    judge->trial.release = setup.release;
    return mt_setup_is_known(&setup) ? 0 : -ENOENT;
}

void mt_judge_cut(struct mt_judge *judge, const struct mt_cut_run *cut, bool *has_failed)
{
    size_t own = mt_failed_last(judge->requests);
    for (size_t i = 0; i < cut->requests.n; i++)
        has_failed[i] = i < own && mt_failed(judge->requests, i);
    judge->requests = &cut->requests;
    judge->event = cut->rest.last;
    judge->rest = &cut->rest;
    judge->trial.request = cut->requests.request;
    judge->trial.n = cut->requests.n;
    judge->trial.has_failed = has_failed;
    judge->trial.is_cut = true;
    judge->trial.failed = own - 1;
}

static int run(struct mt_judge *judge, const struct mt_trial *trial, uint64_t card,
               struct mt_trial_result *result)
{
    judge->replays++;
    return mt_trial_run(trial, card, result);
}

/* Return whether the request that failed is served; the reach says what follows it. */
static bool is_served(const struct mt_judge *judge, const struct mt_trial_result *result)
{
    return judge->rest ? result->reach >= MT_REACH_REQUEST : result->fits;
}

/* Return whether what the run has still to do in this iteration is modelled; what a step requests
 * is known. */
static bool is_modelled(const struct mt_judge *judge)
{
    return judge->rest && judge->rest->ends[MT_REACH_BACKWARD];
}

/* Find how far the run gets if the modelled rest takes as much more as such rests did. doubtful:
 * the bytes that this is a part of. */
static int try_rest(struct mt_judge *judge, const struct mt_trial *trial, uint64_t doubtful,
                    struct mt_judgement *judgement)
{
    struct mt_trial_result result;
    if (!judge->rest || judgement->served != MT_SERVED_YES)
        return 0;
    enum mt_reach known = is_modelled(judge) ? MT_REACH_REQUEST : MT_REACH_STEP;
    uint64_t off = mt_to_uint64((double)doubtful * MT_CUT_ERROR);
    if (judge->rest->handles.lacks)
        off += MOST_HANDLES;
    if (!off || judgement->reach <= known)
        return 0;
    int rc = run(judge, trial, judge->card > off ? judge->card - off : 0, &result);
    if (!rc && result.reach < judgement->reach)
        judgement->reach = result.reach > known ? result.reach : known;
    return rc;
}

/* Try a card that is smaller by `off` bytes; and where that fails, one that is larger. Only what
 * holds on both is known. */
static int try(struct mt_judge *judge, const struct mt_trial *trial, uint64_t off,
               uint64_t doubtful, struct mt_judgement *judgement)
{
    struct mt_trial_result least, most;
    uint64_t less = judge->card > off ? judge->card - off : 0;
    int rc = run(judge, trial, less, &least);
    most = least;
    if (!rc && off && !is_served(judge, &least))
        rc = run(judge, trial, judge->card + off, &most);
    judgement->served = MT_SERVED_UNKNOWN;
    if (rc)
        return rc == -EINVAL ? 0 : rc;
    if (is_served(judge, &least) == is_served(judge, &most))
        judgement->served = is_served(judge, &least) ? MT_SERVED_YES : MT_SERVED_NO;
    judgement->reach = least.reach;
    rc = try_rest(judge, trial, doubtful, judgement);
    if (least.diverges && judgement->reach > MT_REACH_REQUEST)
        judgement->reach = MT_REACH_REQUEST;
    judgement->error = (unsigned)((double)off / (double)judge->card * 1000 + 0.5);
    judgement->at = most;
    if (!rc && off && judgement->served != MT_SERVED_NO)
        rc = run(judge, trial, judge->card, &judgement->at);
    /* PyTorch may empty its cache on a smaller card only, which makes room for a library. */
    if (!rc && judgement->served == MT_SERVED_YES && !is_served(judge, &judgement->at))
        judgement->served = MT_SERVED_UNKNOWN;
    return rc;
}

int mt_judge_setting(struct mt_judge *judge, const struct mt_alloc_conf *conf,
                     struct mt_judgement *judgement)
{
    struct mt_trial trial = judge->trial;
    *judgement =
        (struct mt_judgement){.is_replayed = judge->is_exact && !conf->async, .has_bound = true};
    trial.conf = *conf;
    uint64_t off = judgement->is_replayed ? 0 : mt_to_uint64((double)judge->card * MODEL_ERROR);
    return try(judge, &trial, off, is_modelled(judge) ? judge->live : 0, judgement);
}

/* Make a trial of edited requests, which are the caller's to free; conf NULL: with the recorded
 * settings. */
static int edit_trial(const struct mt_judge *judge, const struct mt_edits *edits,
                      const struct mt_alloc_conf *conf, struct mt_trial *trial,
                      struct mt_request **request)
{
    *trial = judge->trial;
    *request = NULL;
    int rc = mt_trial_edited(judge->requests, edits, judge->event, request, &trial->n);
    trial->request = *request;
    trial->has_failed = NULL;
    trial->failed = SIZE_MAX;
    trial->conf = conf ? *conf : trial->conf;
    return rc;
}

/* Return the bytes that the modelled rest is a guess about: in this iteration what is live, less
 * what is only freed earlier; in the next, what a change saves. */
static uint64_t doubtful_bytes(const struct mt_judge *judge, unsigned error, uint64_t saved)
{
    if (!is_modelled(judge))
        return saved;
    return error || saved > judge->live ? judge->live : judge->live - saved;
}

static int try_edits(struct mt_judge *judge, const struct mt_edits *edits,
                     const struct mt_alloc_conf *conf, unsigned error, uint64_t saved,
                     struct mt_judgement *judgement)
{
    struct mt_trial trial;
    struct mt_request *request;
    int rc = edit_trial(judge, edits, conf, &trial, &request);
    double off = error ? (double)judge->live * error / 1000 + (double)judge->unused * UNUSED_ERROR
                       : 0; /* the program's own requests, only freed earlier */
    if (edits->guesses & (MT_GUESS_PRODUCTS | MT_GUESS_STREAMS) &&
        off < (double)judge->live * MT_CUT_ERROR)
        off = (double)judge->live * MT_CUT_ERROR;
    if (!judge->is_exact && off < (double)judge->card * MODEL_ERROR)
        off = (double)judge->card * MODEL_ERROR;
    if (!rc)
        rc = try(judge, &trial, (uint64_t)off, doubtful_bytes(judge, error, saved), judgement);
    free(request);
    return rc;
}

/* Return whether a request that failed, and that the program went on after, is served now: it would
 * go on otherwise then, and what follows is not known. */
static bool has_earlier(const struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].was_caught && edits->block[i].size)
            return true;
    return false;
}

/* Find by how many bytes a change lowers the peak, where doubtful_bytes needs it; as modelled
 * before, if it is in the list. */
static int find_saved(struct mt_judge *judge, const struct mt_edits *edits,
                      const struct mt_modelled *change, uint64_t *saved)
{
    const struct mt_modelled_changes *changes = judge->changes;
    uint64_t after = 0, moment;
    struct mt_edits before;
    if (!judge->rest || (is_modelled(judge) && change->error))
        return 0;
    for (size_t i = 0; changes && !edits->without && i < changes->n; i++)
        if (!changes->change[i].why_not && !strcmp(changes->change[i].name, change->name)) {
            *saved = changes->change[i].saves > 0 ? (uint64_t)changes->change[i].saves : 0;
            return 0;
        }
    int rc = judge->peak ? 0 : mt_edits_begin(&before, judge->recording);
    if (!rc && !judge->peak) {
        rc = mt_edits_peak(&before, &judge->peak, &moment);
        mt_edits_clear(&before);
    }
    if (!rc)
        rc = mt_edits_peak(edits, &after, &moment);
    *saved = judge->peak > after ? judge->peak - after : 0;
    return rc;
}

/* Begin to edit what is to serve the last request that failed. 0 or -ENOMEM. */
static int begin_edits(struct mt_edits *edits, const struct mt_judge *judge)
{
    /* Where the run was cut, the request is one that is served, and the rest follows it. */
    size_t failed = judge->trial.is_cut ? judge->trial.failed + 1 : mt_failed_last(judge->requests);
    int rc = mt_edits_begin(edits, judge->recording);
    edits->asked = failed ? judge->requests->recorded[failed - 1].event : 0;
    return rc;
}

static int try_guess(struct mt_judge *judge, const char *name, const struct mt_alloc_conf *conf,
                     unsigned without, unsigned *guesses, struct mt_judgement *judgement)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    uint64_t saved = 0;
    int rc = begin_edits(&edits, judge);
    edits.without = without;
    *judgement = (struct mt_judgement){0};
    if (!rc)
        rc = mt_change_apply(&edits, name, &change);
    if (!rc)
        rc = find_saved(judge, &edits, &change, &saved);
    if (!rc)
        rc = try_edits(judge, &edits, conf, change.error, saved, judgement);
    judgement->has_bound = !(edits.guesses & MT_NO_BOUND);
    judgement->is_replayed = !rc && judge->is_exact && mt_judge_replays(judge, &change);
    judgement->why_not = rc == -ENOENT ? change.why_not : NULL;
    judgement->operators = change.operators;
    if (judgement->reach > MT_REACH_REQUEST && has_earlier(&edits))
        judgement->reach = MT_REACH_REQUEST;
    *guesses = edits.guesses;
    mt_edits_clear(&edits);
    return rc == -ENOENT ? 0 : rc;
}

int mt_judge_change(struct mt_judge *judge, const char *name, const struct mt_alloc_conf *conf,
                    struct mt_judgement *judgement)
{
    static const unsigned cases[] = {MT_GUESS_STORES, MT_GUESS_STORES | MT_GUESS_INPUTS,
                                     MT_GUESS_CALLS,  MT_GUESS_SCORES,
                                     MT_GUESS_FLOATS, MT_GUESS_COPIES,
                                     MT_GUESS_OTHERS, MT_GUESS_PLANS};
    unsigned guesses, unused, last = 0;
    int rc = try_guess(judge, name, conf, 0, &guesses, judgement);
    for (size_t i = 0; !rc && i < sizeof cases / sizeof *cases; i++) {
        struct mt_judgement other;
        unsigned without = cases[i] & guesses;
        if (!without || without == last || judgement->served == MT_SERVED_UNKNOWN)
            continue;
        last = without;
        rc = try_guess(judge, name, conf, without, &unused, &other);
        if (!rc && other.served != judgement->served)
            judgement->served = MT_SERVED_UNKNOWN;
        if (!rc && other.reach < judgement->reach)
            judgement->reach = other.reach;
    }
    return rc;
}

/* Edited requests have no uses by other streams, which let a block wait. */
bool mt_judge_replays(const struct mt_judge *judge, const struct mt_modelled *change)
{
    const struct mt_requests *requests = judge->requests;
    bool has_streams = false;
    for (size_t i = 0; i < requests->n; i++)
        has_streams |= requests->request[i].kind == MT_REQUEST_RECORD_STREAM;
    return change->kind[0] && change->kind[0]->is_replayed && !change->kind[1] && !has_streams &&
           !requests->unknown;
}

/* Replay the requests on a card with a change, "": none. goes_on: whether one that failed is served
 * now, and the program would have gone on otherwise. 0 or a negative errno. */
static int run_changed(struct mt_judge *judge, const char *name, uint64_t card,
                       struct mt_trial_result *result, bool *goes_on)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    struct mt_trial trial = judge->trial;
    struct mt_request *request = NULL;
    int rc = begin_edits(&edits, judge);
    if (!rc && *name)
        rc = mt_change_apply(&edits, name, &change);
    if (!rc && *name)
        rc = edit_trial(judge, &edits, NULL, &trial, &request);
    if (!rc)
        rc = run(judge, &trial, card, result);
    *goes_on = !rc && has_earlier(&edits);
    free(request);
    mt_edits_clear(&edits);
    return rc;
}

int mt_judge_peak(struct mt_judge *judge, const char *name, uint64_t *allocated)
{
    struct mt_trial_result result = {0};
    bool unused;
    int rc = run_changed(judge, name, UINT64_MAX / 2, &result, &unused);
    *allocated = result.peak_allocated;
    return rc;
}

int mt_judge_card(struct mt_judge *judge, const char *name, const struct mt_alloc_conf *conf,
                  uint64_t *enough)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    struct mt_trial trial;
    struct mt_request *request = NULL;
    int rc = begin_edits(&edits, judge);
    *enough = 0;
    if (!rc && *name)
        rc = mt_change_apply(&edits, name, &change);
    if (!rc)
        rc = edit_trial(judge, &edits, conf, &trial, &request);
    for (uint64_t card = judge->card; !rc && !*enough && card < judge->card << DOUBLINGS; card *= 2)
        rc = mt_trial_card(&trial, card, enough);
    free(request);
    mt_edits_clear(&edits);
    return rc == -ENOENT || rc == -EINVAL ? 0 : rc;
}

int mt_judge_about(struct mt_judge *judge, const char *name, bool *fits)
{
    struct mt_trial_result result = {0};
    bool goes_on;
    uint64_t off = is_modelled(judge) ? mt_to_uint64((double)judge->live * MT_CUT_ERROR / 2) : 0;
    int rc = run_changed(judge, name, judge->card > off ? judge->card - off : 0, &result, &goes_on);
    *fits = !rc && result.fits && !result.diverges && !goes_on;
    return rc == -ENOENT ? 0 : rc;
}
