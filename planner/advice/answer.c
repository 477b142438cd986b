/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/support/to-integer.h"
#include "remedies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MOST 3u /* ways of settings alone, with different results */
#define PAIRED_MOST 8u   /* changes that are tried in pairs */
#define ENOUGH_PAIRS 4u  /* that fit */
#define MORE_ROOM 0.01   /* of the card: what a way leaves free beyond another */

/* Replays take the longer the more requests there are: all together as many requests, but some
 * replays in any case. */
#define REQUESTS_MOST 30000000u
#define REPLAYS_LEAST 40u
#define REPLAYS_MOST 600u
/* What the ways have in common while they are sought. */
struct search {
    struct mt_plan_answer *answer;
    struct mt_judge judge;
    const struct mt_modelled_changes *changes;
    bool *has_failed;                      /* of a trace that is cut, by request */
    enum mt_served *served;                /* by change: alone */
    const struct mt_plan_setting *setting; /* the best other one; NULL: there is none */
    struct mt_alloc_conf conf;             /* of it */
    uint64_t least;                        /* live bytes of the nearest so far */
    bool grows;                            /* memory ran out, and would again a little later */
};

static uint64_t free_of(const struct mt_plan *plan, uint64_t used)
{
    return plan->card.total > used ? plan->card.total - used : 0;
}

static bool is_spent(struct search *search)
{
    size_t n = search->judge.requests->n + 1, most = REQUESTS_MOST / n;
    most = most < REPLAYS_LEAST ? REPLAYS_LEAST : most > REPLAYS_MOST ? REPLAYS_MOST : most;
    search->answer->is_cut |= search->judge.replays >= most;
    return search->judge.replays >= most;
}

static int add(struct mt_plan_answer *answer, const struct mt_way *way)
{
    return MT_APPEND(answer->way, answer->capacity, answer->n, *way);
}

static struct mt_way way_of(const struct search *search, const char *change,
                            const struct mt_plan_setting *setting,
                            const struct mt_judgement *judgement)
{
    const struct mt_rest *rest = search->answer->rest;
    bool is_complete = !rest || (judgement->reach >= rest->known && !rest->is_first);
    struct mt_way way = {.served = judgement->served == MT_SERVED_YES && !is_complete
                                       ? MT_SERVED_UNKNOWN
                                       : judgement->served,
                         .request = judgement->served,
                         .reach = judgement->reach,
                         .is_replayed = judgement->is_replayed,
                         .error = judgement->has_bound ? judgement->error : 0,
                         .peak_reserved = judgement->at.peak_reserved,
                         .free = free_of(search->answer->plan, judgement->at.most_used),
                         .operators = judgement->operators,
                         .is_async = setting && setting->is_async,
                         .is_first = rest && rest->is_first,
                         .has_conf = setting != NULL};
    snprintf(way.change, sizeof way.change, "%s", change);
    snprintf(way.conf, sizeof way.conf, "%s", setting ? setting->conf : "");
    return way;
}

/* Return whether a setting is the first of those with the same result. */
static bool is_new(const struct mt_plan_answer *answer, const struct mt_plan_setting *setting)
{
    for (size_t i = 0; i < answer->n; i++)
        if (answer->way[i].peak_reserved == setting->peak_reserved)
            return false;
    return !setting->is_recorded;
}

static int read_conf(const struct mt_plan *plan, const char *text, struct mt_alloc_conf *conf)
{
    struct mt_alloc_conf_error error;
    mt_alloc_conf_init(conf);
    return mt_alloc_conf_read(conf, plan->release, text, &error);
}

/* Judge a setting. Try what is not replayed exactly on other cards, too. */
static int judge_setting(struct search *search, const struct mt_plan_setting *setting,
                         struct mt_judgement *judgement)
{
    struct mt_alloc_conf conf;
    *judgement = (struct mt_judgement){
        .served = setting->fits ? MT_SERVED_YES : MT_SERVED_NO,
        .is_replayed = true,
        .at = {.peak_reserved = setting->peak_reserved, .most_used = setting->most_used}};
    if ((search->judge.is_exact && !setting->is_async && !search->judge.rest) ||
        read_conf(search->answer->plan, setting->conf, &conf))
        return 0;
    return mt_judge_setting(&search->judge, &conf, judgement);
}

/* Try the settings in plan's order: what fits, and what reserves least, comes first. */
static int try_settings(struct search *search)
{
    struct mt_plan_answer *answer = search->answer;
    const struct mt_plan *plan = answer->plan;
    uint64_t more = mt_to_uint64((double)plan->card.total * MORE_ROOM);
    int rc = 0;
    for (size_t i = 0; !rc && i < plan->n && answer->n < SETTINGS_MOST; i++) {
        const struct mt_plan_setting *setting = &plan->setting[i];
        struct mt_judgement judgement;
        bool has_room = answer->fits != MT_SERVED_YES ||
                        free_of(plan, setting->most_used) > answer->free + more;
        bool may = setting->fits || (answer->rest && plan->requests->ooms > 1);
        if (!may || !is_new(answer, setting) || !has_room)
            continue;
        rc = judge_setting(search, setting, &judgement);
        if (search->grows && judgement.served == MT_SERVED_YES)
            judgement.served = MT_SERVED_UNKNOWN;
        struct mt_way way = way_of(search, "", setting, &judgement);
        way.retries = setting->retries;
        if (!rc && judgement.served != MT_SERVED_NO)
            rc = add(answer, &way);
    }
    return rc;
}

/* Keep the nearest change: it needs fewest live bytes. */
static void note_nearest(struct search *search, const char *change, uint64_t peak)
{
    if (search->least && peak >= search->least)
        return;
    search->least = peak;
    search->answer->nearest = (struct mt_way){.has_conf = search->setting != NULL};
    snprintf(search->answer->nearest.change, sizeof search->answer->nearest.change, "%s", change);
    snprintf(search->answer->nearest.conf, sizeof search->answer->nearest.conf, "%s",
             search->setting ? search->setting->conf : "");
}

/* Try a change, or two; alone, or with the best setting where that is not enough: *served says what
 * came of it alone then, and of both after. */
static int try_change(struct search *search, const char *name, bool with_setting,
                      enum mt_served *served)
{
    struct mt_judgement judgement;
    enum mt_served alone = with_setting ? *served : MT_SERVED_NO;
    const struct mt_plan_setting *setting = with_setting ? search->setting : NULL;
    *served = MT_SERVED_NO;
    if (is_spent(search))
        return 0;
    int rc = mt_judge_change(&search->judge, name, setting ? &search->conf : NULL, &judgement);
    if (rc || judgement.why_not)
        return rc == -EINVAL ? 0 : rc;
    struct mt_way way = way_of(search, name, setting, &judgement);
    *served = way.served;
    return *served == MT_SERVED_NO || *served == alone ? 0 : add(search->answer, &way);
}

static bool is_hopeful(const struct search *search, const struct mt_modelled *change)
{
    return !change->why_not && change->saves > 0 &&
           change->peak <= search->answer->plan->card.total;
}

/* What no_grad has to save, as a part of what keeping nothing would: else the program keeps results
 * of its own, and grows on with it. */
#define GRAPHS_LEAST 0.75

/* Return whether a change is not for the run: what is for training, where nothing is trained; a
 * faster kernel of Adam, where something else steps; no_grad, where most growth is not of graphs.
 */
static bool is_beside(const struct search *search, const char *name)
{
    const struct mt_plan_answer *answer = search->answer;
    if (answer->infers && mt_remedy_of(name)->trains)
        return true;
    if (!strcmp(name, "no-grad") &&
        (double)mt_answer_saves(search->changes, name) <
            (double)mt_answer_saves(search->changes, "keep-nothing") * GRAPHS_LEAST)
        return true;
    return *answer->optimizer && !strncmp(name, "optimizer:adamw", strlen("optimizer:adamw")) &&
           !strstr(answer->optimizer, "Adam");
}

/* Return whether one way carries the run further than another, as far as is known. */
static bool is_further(const struct mt_way *one, const struct mt_way *other)
{
    unsigned a = mt_way_known(one), b = mt_way_known(other);
    return a < b || (a == b && one->reach > other->reach);
}

/* Try smaller parts of the batch where half of it is not enough. One that carries the run further
 * takes the place of the larger one. */
static int try_smaller_batches(struct search *search, enum mt_served served)
{
    static const char *const smaller[] = {"batch:1/4", "batch:1/8"};
    struct mt_plan_answer *answer = search->answer;
    int rc = 0;
    for (size_t i = 0; !rc && i < 2 && served != MT_SERVED_YES; i++) {
        size_t n = answer->n;
        rc = try_change(search, smaller[i], false, &served);
        struct mt_way *before = n ? &answer->way[n - 1] : NULL;
        if (rc || answer->n == n || !before || strncmp(before->change, "batch:", 6) != 0)
            continue;
        if (is_further(before + 1, before))
            *before = before[1];
        answer->n = n;
    }
    return rc;
}

static int try_changes(struct search *search)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < search->changes->n; i++) {
        const struct mt_modelled *change = &search->changes->change[i];
        search->served[i] = MT_SERVED_NO;
        if (!change->why_not && !is_beside(search, change->name))
            note_nearest(search, change->name, change->peak);
        if (is_hopeful(search, change) && !is_beside(search, change->name))
            rc = try_change(search, change->name, false, &search->served[i]);
        if (!rc && !change->why_not && search->changes->is_usual &&
            !strcmp(change->name, "batch:1/2"))
            rc = try_smaller_batches(search, search->served[i]);
        if (!strcmp(change->name, "no-benchmark") && search->served[i] == MT_SERVED_YES &&
            !search->answer->plan->requests->ooms)
            search->answer->fits = MT_SERVED_UNKNOWN; /* PyTorch searches in what is free, too */
    }
    return rc;
}

/* Return whether something that costs no more fits for certain: then a combination is not worth a
 * try. */
static bool is_beaten(const struct search *search, const char *change)
{
    const struct mt_plan_answer *answer = search->answer;
    size_t i = 0;
    while (i < answer->n && (answer->way[i].served != MT_SERVED_YES ||
                             answer->way[i].has_conf != !*answer->way[i].change ||
                             mt_remedy_cost(answer->way[i].change) > mt_remedy_cost(change)))
        i++;
    return i < answer->n;
}

static int try_with_setting(struct search *search)
{
    int rc = 0;
    for (size_t i = 0; !rc && search->setting && i < search->changes->n; i++) {
        const struct mt_modelled *change = &search->changes->change[i];
        enum mt_served served = search->served[i];
        if (served != MT_SERVED_YES && is_hopeful(search, change) &&
            !is_beside(search, change->name) && !is_beaten(search, change->name))
            rc = try_change(search, change->name, true, &served);
    }
    return rc;
}

/* Two changes that are worth a try, and what they may save together. */
struct pair {
    char name[MT_CHANGE_NAME];
    unsigned rank;
    int64_t saves;
};

MT_ORDER(cheapest_first, struct pair, MT_RISING(rank) ?: MT_FALLING(saves) ?: MT_BY_TEXT(name))

/* Find the pairs, with what saves most first. */
static size_t find_pairs(const struct search *search, struct pair pair[PAIRED_MOST * PAIRED_MOST])
{
    const struct mt_modelled *alone[PAIRED_MOST];
    size_t n = 0, found = 0;
    for (size_t i = 0; i < search->changes->n && n < PAIRED_MOST; i++)
        if (search->served[i] != MT_SERVED_YES && !search->changes->change[i].why_not &&
            !is_beside(search, search->changes->change[i].name) &&
            search->changes->change[i].saves > 0 && !strchr(search->changes->change[i].name, '+'))
            alone[n++] = &search->changes->change[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            struct pair *one = &pair[found];
            if (!mt_changes_go_together(alone[j]->name, alone[i]->name) ||
                snprintf(one->name, sizeof one->name, "%s+%s", alone[j]->name, alone[i]->name) >=
                    (int)sizeof one->name)
                continue;
            one->rank = mt_remedy_rank(one->name);
            one->saves = alone[i]->saves + alone[j]->saves;
            found++;
        }
    if (found)
        qsort(pair, found, sizeof *pair, cheapest_first);
    return found;
}

/* Return whether one thing alone serves the request that failed, and no more is known. */
static bool is_enough(const struct mt_plan_answer *answer)
{
    size_t i = 0;
    while (i < answer->n &&
           (answer->way[i].request != MT_SERVED_YES || mt_way_is_two(&answer->way[i])))
        i++;
    return answer->rest && answer->rest->known <= MT_REACH_REQUEST && i < answer->n;
}

static int try_pairs(struct search *search)
{
    struct pair pair[PAIRED_MOST * PAIRED_MOST];
    size_t n = find_pairs(search, pair), enough = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < n && enough < ENOUGH_PAIRS; i++) {
        enum mt_served served = MT_SERVED_NO;
        struct mt_modelled both;
        if (is_spent(search))
            return 0;
        if (is_beaten(search, pair[i].name))
            continue;
        rc = mt_modelled_of(&both, search->judge.recording, pair[i].name);
        if (rc || both.why_not)
            continue;
        note_nearest(search, pair[i].name, both.peak);
        if (both.peak > search->answer->plan->card.total)
            continue;
        rc = try_change(search, pair[i].name, false, &served);
        if (!rc && served != MT_SERVED_YES && search->setting)
            rc = try_change(search, pair[i].name, true, &served);
        enough += served == MT_SERVED_YES;
    }
    return rc;
}

/* Return how much more of the card the nearest way needs: of settings alone, what an endless card
 * would have had; of changes, the smallest card that does. */
static int find_missing(struct search *search)
{
    struct mt_plan_answer *answer = search->answer;
    const struct mt_plan *plan = answer->plan;
    bool is_beyond = answer->rest && answer->rest->known > MT_REACH_REQUEST;
    uint64_t enough = 0;
    int rc = 0;
    if (search->least)
        rc = mt_judge_card(&search->judge, answer->nearest.change,
                           search->setting ? &search->conf : NULL, &enough);
    if (!rc && enough)
        answer->missing = enough - plan->card.total;
    for (size_t i = 0; !rc && !is_beyond && i < plan->n; i++) {
        const struct mt_plan_setting *setting = &plan->setting[i];
        uint64_t missing = setting->fits ? 0 : setting->most_used - plan->card.total;
        if (setting->is_async || !missing || (answer->missing && missing >= answer->missing))
            continue;
        answer->missing = missing;
        answer->nearest = (struct mt_way){.has_conf = !setting->is_recorded};
        snprintf(answer->nearest.conf, sizeof answer->nearest.conf, "%s", setting->conf);
    }
    return rc;
}

/* Choose the setting that reserves least but for the recorded one. */
static void choose_setting(struct search *search)
{
    const struct mt_plan *plan = search->answer->plan;
    for (size_t i = 0; i < plan->n; i++) {
        const struct mt_plan_setting *setting = &plan->setting[i];
        if (setting->is_async || setting->is_recorded ||
            (search->setting && setting->peak_reserved >= search->setting->peak_reserved))
            continue;
        search->setting = setting;
    }
    const struct mt_plan_setting *recorded = mt_plan_recorded(plan);
    if (search->setting &&
        ((recorded && recorded->peak_reserved <= search->setting->peak_reserved) ||
         read_conf(plan, search->setting->conf, &search->conf)))
        search->setting = NULL;
}

static int judge_recorded(struct search *search)
{
    struct mt_plan_answer *answer = search->answer;
    const struct mt_plan_setting *recorded = mt_plan_recorded(answer->plan);
    struct mt_judgement judgement;
    answer->fits = MT_SERVED_NO;
    if (!recorded)
        return 0;
    int rc = judge_setting(search, recorded, &judgement);
    answer->fits = judgement.served;
    if (recorded->fits)
        answer->free = free_of(answer->plan, recorded->most_used);
    else
        search->judge.unused =
            recorded->oom.then.reserved - recorded->oom.then.allocated + recorded->oom.card_free;
    return rc;
}

/* Return whether memory ran out since the program keeps what it need not, as memtap oom judges it
 * (mt_oom_is_grown). */
static bool does_grow(const struct search *search)
{
    const struct mt_modelled_changes *changes = search->changes;
    const struct mt_modelled *change = changes ? mt_modelled_find(changes, "keep-nothing") : NULL;
    if (!search->answer->rest || !change || change->saves <= 0)
        return false;
    uint64_t kept = (uint64_t)change->saves;
    return !change->why_not && kept > changes->peak / MT_GROWN_PART && kept > search->judge.unused;
}

static int begin(struct search *search, const struct mt_cut_run *cut,
                 const struct mt_recording *recording)
{
    const struct mt_plan *plan = search->answer->plan;
    struct mt_judge *judge = &search->judge;
    judge->requests = plan->requests;
    judge->recording = recording, judge->changes = search->changes;
    judge->card = plan->card.total;
    judge->is_exact = plan->is_exact && !plan->requests->is_late;
    judge->trial = (struct mt_trial){.request = plan->requests->request,
                                     .n = plan->requests->n,
                                     .has_streams = plan->requests->others_streams,
                                     .conf = plan->recorded_conf,
                                     .release = plan->release};
    judge->event = plan->requests->n ? plan->requests->recorded[plan->requests->n - 1].event : 0;
    judge->live = plan->requests->peak_allocated;
    for (size_t i = 0; recording && i < recording->n; i++)
        search->answer->forward += recording->block[i].phase == MT_PHASE_FORWARD;
    if (recording)
        mt_answer_about(search->answer, recording);
    if (!cut)
        return 0;
    search->has_failed = calloc(cut->requests.n + 1, sizeof *search->has_failed);
    if (!search->has_failed)
        return -ENOMEM;
    mt_judge_cut(judge, cut, search->has_failed);
    return 0;
}

int mt_answer_make(struct mt_plan_answer *answer, const struct mt_plan *plan,
                   const struct mt_cut_run *cut, const struct mt_recording *recording,
                   const struct mt_modelled_changes *changes)
{
    struct search search = {.answer = answer, .changes = changes};
    *answer =
        (struct mt_plan_answer){.plan = plan, .rest = cut ? &cut->rest : NULL, .changes = changes};
    if (!plan->card.total || !plan->n)
        return 0;
    int rc = begin(&search, cut, recording);
    if (!rc)
        rc = judge_recorded(&search);
    search.grows = does_grow(&search);
    if (!rc)
        rc = try_settings(&search);
    if (!rc && answer->fits != MT_SERVED_YES && changes) {
        choose_setting(&search);
        search.served = calloc(changes->n + 1, sizeof *search.served);
        rc = search.served ? try_changes(&search) : -ENOMEM;
        bool is_alone = is_enough(answer);
        if (!rc && !is_alone)
            rc = try_with_setting(&search);
        if (!rc && !is_alone)
            rc = try_pairs(&search);
        if (!rc && changes->is_usual && !search.grows && !is_spent(&search))
            rc = mt_find_largest_batch(answer, &search.judge);
        free(search.served);
    }
    mt_answer_sort(answer);
    if (!rc && !answer->n && !mt_answer_is_found(answer))
        rc = find_missing(&search);
    free(search.has_failed);
    return rc;
}

void mt_answer_clear(struct mt_plan_answer *answer)
{
    free(answer->way);
    *answer = (struct mt_plan_answer){0};
}

bool mt_answer_is_found(const struct mt_plan_answer *answer)
{
    if (!answer->plan->card.total || answer->fits == MT_SERVED_YES)
        return true;
    return answer->n && answer->way[0].served == MT_SERVED_YES;
}
