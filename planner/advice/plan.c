/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "packing.h"
#include "planner/requests/recorded-conf.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The settings that memtap tries by default, terminated by NULL. Settings that a release lacks are
 * left out. */
extern const char *const mt_plan_candidates[];

const char *const mt_plan_candidates[] = {
    "", /* PyTorch's defaults */
    "expandable_segments:True",
    "max_split_size_mb:20",
    "max_split_size_mb:32",
    "max_split_size_mb:64",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:1",
    "roundup_power2_divisions:2",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:16",
    "roundup_power2_divisions:32",
    "max_split_size_mb:128,max_non_split_rounding_mb:64",
    "max_split_size_mb:128,roundup_power2_divisions:8",
    "expandable_segments:True,roundup_power2_divisions:8",
    "expandable_segments:True,max_split_size_mb:128",
    "large_segment_size_mb:32",
    "large_segment_size_mb:64",
    "backend:cudaMallocAsync",
    NULL,
};

#define ENDLESS (UINT64_C(1) << 60) /* bytes of an unlimited card */

/* What a replay collects. */
struct watch {
    const struct mt_requests *requests;
    struct mt_plan_setting *setting; /* NULL: not needed */
    struct mt_plan_check *check;     /* likewise */
    uint64_t peak;                   /* reserved so far */
    uint64_t others;                 /* the card's memory in use outside PyTorch now */
    size_t end;                      /* after the last allocation */
};

static void compare(struct mt_plan_check *check, const struct mt_request_totals *recorded,
                    const struct mt_allocator_state *now)
{
    uint64_t off = now->reserved > recorded->reserved ? now->reserved - recorded->reserved
                                                      : recorded->reserved - now->reserved;
    bool is_equal = !off && now->allocated == recorded->allocated;
    check->compared++;
    check->equal += is_equal;
    if (check->most < off)
        check->most = off;
    if (!is_equal && !check->first_event)
        check->first_event = recorded->event;
}

static void note(void *context, size_t index, const struct mt_request *request,
                 const struct mt_allocator_state *now, bool out_of_memory)
{
    struct watch *watch = context;
    const struct mt_request_totals *recorded = &watch->requests->recorded[index];
    struct mt_plan_setting *setting = watch->setting;
    bool is_block = request->kind == MT_REQUEST_ALLOCATE || request->kind == MT_REQUEST_FREE;
    if (watch->check)
        watch->check->ooms = now->ooms;
    if (watch->check && is_block && recorded->reserved && !out_of_memory)
        compare(watch->check, recorded, now);
    if (!setting)
        return;
    if (now->reserved > watch->peak) {
        watch->peak = now->reserved;
        setting->peak_reserved = now->reserved;
        setting->peak_event = recorded->event;
    }
    if (request->kind == MT_REQUEST_OTHERS)
        watch->others = request->size;
    if (setting->most_used < now->reserved + watch->others)
        setting->most_used = now->reserved + watch->others;
    if (setting->peak_allocated < now->allocated)
        setting->peak_allocated = now->allocated;
    if (index >= watch->end)
        return;
    uint64_t *unused = &setting->unused[index * MT_PLAN_POINTS / watch->end];
    if (*unused < now->reserved - now->allocated)
        *unused = now->reserved - now->allocated;
}

/* Replay on a card of this many bytes. Return 0 or a negative errno. */
static int replay(const struct mt_plan *plan, const struct mt_alloc_conf *conf, uint64_t total,
                  struct watch *watch)
{
    const struct mt_requests *requests = plan->requests;
    struct mt_allocator_card card = {.total = total ? total : ENDLESS,
                                     .has_streams = requests->others_streams,
                                     .confs = requests->confs,
                                     .n_confs = requests->n_confs};
    if (!conf->async) {
        card.held = requests->held;
        card.n_held = requests->n_held;
    }
    struct mt_allocator *allocator = mt_allocator_create(conf, plan->release, &card);
    if (!allocator)
        return -ENOMEM;
    int rc = mt_allocator_feed_watched(allocator, requests->request, requests->n, note, watch);
    const struct mt_allocator_oom *oom = mt_allocator_first_oom(allocator);
    if (watch->setting) {
        watch->setting->fits = !oom;
        watch->setting->retries = mt_allocator_now(allocator)->retries;
        watch->setting->oom = oom ? *oom : (struct mt_allocator_oom){0};
        watch->setting->oom_at = oom ? &requests->recorded[oom->index] : NULL;
    }
    mt_allocator_destroy(allocator);
    return rc;
}

/* Return the end of the measured part: the last allocation, since only the program's exit follows.
 */
static size_t end_of(const struct mt_requests *requests)
{
    size_t end = requests->n;
    while (end && requests->request[end - 1].kind != MT_REQUEST_ALLOCATE)
        end--;
    return end;
}

/* Try a setting on the card. If it does not fit, find what it would need. */
static int try_setting(const struct mt_plan *plan, struct mt_plan_setting *setting,
                       const struct mt_alloc_conf *conf)
{
    struct mt_plan_setting endless = *setting;
    struct watch watch = {
        .requests = plan->requests, .setting = setting, .end = end_of(plan->requests)};
    setting->is_async = conf->async;
    setting->lacks_graphs = conf->async && plan->requests->private_allocs;
    int rc = replay(plan, conf, plan->card.total, &watch);
    if (rc || setting->fits)
        return rc;
    watch = (struct watch){
        .requests = plan->requests, .setting = &endless, .end = end_of(plan->requests)};
    rc = replay(plan, conf, 0, &watch);
    setting->peak_reserved = endless.peak_reserved;
    setting->peak_allocated = endless.peak_allocated;
    setting->most_used = endless.most_used;
    setting->peak_event = endless.peak_event;
    memcpy(setting->unused, endless.unused, sizeof endless.unused);
    return rc;
}

static const struct mt_plan_setting *find(const struct mt_plan *plan, const char *conf)
{
    for (size_t i = 0; i < plan->n; i++)
        if (!strcmp(plan->setting[i].conf, conf))
            return &plan->setting[i];
    return NULL;
}

/* Add a setting. -EINVAL: the release does not have it. */
static int add(struct mt_plan *plan, size_t *capacity, const char *text, bool is_requested,
               struct mt_alloc_conf_error *error)
{
    struct mt_alloc_conf conf;
    mt_alloc_conf_init(&conf);
    int rc = mt_alloc_conf_read(&conf, plan->release, text, error);
    if (rc || find(plan, text))
        return rc;
    if (strlen(text) >= MT_PLAN_CONF) {
        snprintf(error->text, sizeof error->text, "the setting is too long; at most %d bytes",
                 MT_PLAN_CONF - 1);
        return -EINVAL;
    }
    if (MT_GROW(plan->setting, *capacity, plan->n))
        return -ENOMEM;
    struct mt_plan_setting *setting = &plan->setting[plan->n++];
    *setting = (struct mt_plan_setting){.is_requested = is_requested,
                                        .is_recorded = !strcmp(text, plan->conf)};
    snprintf(setting->conf, sizeof setting->conf, "%s", text);
    return try_setting(plan, setting, &conf);
}

/* Sort: settings that fit first, then by reserved memory; among equals the recorded one, then the
 * shorter. */
MT_ORDER(better, struct mt_plan_setting,
         MT_FALLING(fits) ?: MT_RISING(is_async) ?: MT_RISING(peak_reserved)
         ?: MT_FALLING(is_recorded) ?: MT_COMPARE(strlen(a->conf), strlen(b->conf))
         ?: MT_BY_TEXT(conf))

/* Check the recorded setting on the recorded card against the trace, and find the floor. */
static int check(struct mt_plan *plan)
{
    struct watch watch = {.requests = plan->requests, .check = &plan->check};
    uint64_t total = plan->requests->knows_others ? plan->requests->card : 0;
    int rc = replay(plan, &plan->recorded_conf, total, &watch);
    plan->is_exact = !rc && !plan->requests->unknown && !plan->requests->unread_confs &&
                     !plan->requests->from_before && !plan->recorded_conf.async &&
                     plan->knows_release && !plan->conf_problem[0] &&
                     plan->check.equal == plan->check.compared &&
                     plan->check.ooms == plan->requests->ooms;
    return rc == -EINVAL ? 0 : rc;
}

/* Return the peak of live requested bytes. */
static uint64_t live_peak(const struct mt_requests *requests)
{
    uint64_t now = 0, most = 0;
    size_t blocks = 0;
    for (size_t i = 0; i < requests->n; i++)
        if (requests->request[i].block >= blocks)
            blocks = (size_t)requests->request[i].block + 1;
    uint64_t *size = calloc(blocks + 1, sizeof *size);
    for (size_t i = 0; size && i < requests->n; i++) {
        const struct mt_request *request = &requests->request[i];
        if (request->kind == MT_REQUEST_ALLOCATE) {
            size[request->block] = request->size;
            now += request->size;
        } else if (request->kind == MT_REQUEST_FREE) {
            now -= size[request->block];
            size[request->block] = 0;
        }
        most = most < now ? now : most;
    }
    free(size);
    return most;
}

/* Return the smallest packing, given that each setting's need is a packing as well. */
static uint64_t least(const struct mt_plan *plan, uint64_t packing)
{
    for (size_t i = 0; i < plan->n; i++)
        if (!packing || plan->setting[i].peak_reserved < packing)
            packing = plan->setting[i].peak_reserved;
    return packing;
}

static int try_all(struct mt_plan *plan, const struct mt_plan_question *question, size_t *wrong,
                   struct mt_alloc_conf_error *error)
{
    size_t capacity = 0;
    struct mt_alloc_conf_error unused;
    int rc = plan->conf_problem[0] ? 0 : add(plan, &capacity, plan->conf, false, error);
    for (size_t i = 0; i < question->n_wanted && !rc; i++) {
        *wrong = i;
        rc = add(plan, &capacity, question->wanted[i], true, error);
    }
    for (size_t i = 0; !question->n_wanted && mt_plan_candidates[i] && !rc; i++)
        if ((rc = add(plan, &capacity, mt_plan_candidates[i], false, &unused)) == -EINVAL)
            rc = 0;
    return rc;
}

int mt_plan_make(struct mt_plan *plan, const struct mt_requests *requests,
                 const struct mt_plan_question *question, size_t *wrong,
                 struct mt_alloc_conf_error *error)
{
    *plan = (struct mt_plan){.requests = requests, .card = question->card};
    struct mt_recorded_setup setup;
    mt_setup_of(&setup, question->torch, question->conf);
    plan->release = setup.release;
    plan->knows_release = setup.knows_release;
    plan->recorded_conf = setup.conf;
    snprintf(plan->conf_problem, sizeof plan->conf_problem, "%s", setup.problem.text);
    plan->is_other_card = question->card.total != 0;
    if (!plan->is_other_card)
        plan->card.total = requests->knows_others ? requests->card : 0;
    snprintf(plan->conf, sizeof plan->conf, "%s", question->conf ? question->conf : "");
    int rc = check(plan);
    if (!rc)
        rc = try_all(plan, question, wrong, error);
    if (rc)
        return rc;
    plan->floor.live = live_peak(requests);
    if (plan->n)
        qsort(plan->setting, plan->n, sizeof *plan->setting, better);
    plan->floor.packing = least(plan, mt_packing(requests));
    return 0;
}

void mt_plan_clear(struct mt_plan *plan)
{
    free(plan->setting);
    plan->setting = NULL;
    plan->n = 0;
}

const char *mt_plan_how(const struct mt_plan *plan, const struct mt_plan_setting *setting)
{
    bool has_begun = !plan->requests->is_late || setting->is_recorded;
    return plan->is_exact && !setting->is_async && has_begun ? "replayed" : "modelled";
}

const char *mt_plan_variable(const struct mt_plan *plan)
{
    return mt_torch_variable(plan->release);
}

const struct mt_plan_setting *mt_plan_recorded(const struct mt_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        if (plan->setting[i].is_recorded)
            return &plan->setting[i];
    return NULL;
}

const struct mt_plan *mt_plan_main(const struct mt_plan *plans, size_t n)
{
    const struct mt_plan *most = plans;
    for (size_t i = 1; i < n; i++)
        if (plans[i].requests->peak_allocated > most->requests->peak_allocated)
            most = &plans[i];
    return most;
}

bool mt_plan_fits(const struct mt_plan *plans, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (plans[i].n && !plans[i].setting->fits)
            return false;
    return true;
}
