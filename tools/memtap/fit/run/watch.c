/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"
#include "analyzer/replay/follow.h"
#include "analyzer/support/search.h"
#include "requests.h"
#include "tools/memtap/input/followed.h"

#include <string.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define MOST_TRACES 256u
#define MOST_EVENTS 1000000u

/* Peak use of a card without its context, in bytes. */
struct usage {
    uint64_t cuda, floor, allocated, reserved;
    uint64_t base; /* the rest, according to the card */
};

struct followed {
    char path[PATH_MAX];
    struct mt_follow *follow;
    struct mt_watcher watcher;
    struct usage usage[MT_DEVICES];
    struct mt_repeat repeat[MT_DEVICES];
    struct mt_gathering *gathering;
    const struct mt_requests *requests; /* of its devices, valid once it has ended */
    size_t n_gathered;
    uint32_t steps;
    bool is_full, went_on, is_known, is_over;
};

struct mt_run_watch {
    char folder[PATH_MAX];
    uint32_t steps;
    struct followed *of[MOST_TRACES];
    size_t n;
};

static void raise_to(uint64_t *most, uint64_t bytes)
{
    if (bytes > *most)
        *most = bytes;
}

/* --- events ----------------------------------------------------------------------------------- */

static void note_totals(struct usage *usage, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_totals *now = &replay->of_torch.now[slot];
    uint64_t cuda = replay->cuda.heap.total[slot].bytes;
    uint64_t cached = now->reserved > now->allocated ? now->reserved - now->allocated : 0;
    raise_to(&usage->cuda, cuda > now->reserved ? cuda : now->reserved);
    raise_to(&usage->floor, cuda > cached ? cuda - cached : now->allocated);
    raise_to(&usage->allocated, now->event ? now->allocated : cuda);
    raise_to(&usage->reserved, now->event ? now->reserved : cuda);
}

/* Note what the card holds besides CUDA's allocations: the context and CUDA modules. */
static void note_sample(struct followed *followed, const struct mt_replay *replay,
                        const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t used = event->DEVICE_MEMORY.total - event->DEVICE_MEMORY.free;
    uint64_t cuda = replay->cuda.heap.total[slot].bytes;
    raise_to(&followed->usage[slot].base, used > cuda ? used - cuda : 0);
}

/* Note an event. If one device trains while another only holds data, the training one decides when
 * the peak is known. Nothing is noted after that, so the result does not depend on when the run was
 * ended. */
static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct followed *followed = data;
    unsigned slot = mt_device_slot(event->device);
    size_t beside = mt_gathering_beside(followed->gathering, slot);
    struct mt_repeat *repeat = &followed->repeat[slot];
    if (followed->is_known)
        return 0;
    int rc = mt_gather(followed->gathering, replay, event);
    if (replay->ooms.n) {
        followed->is_full = true;
        followed->went_on |=
            replay->ooms.kept[(replay->ooms.n - 1) % MT_OOMS_KEPT].went_on || replay->ooms.n > 1;
    }
    if (event->kind == MT_DEVICE_MEMORY)
        note_sample(followed, replay, event);
    if (rc || mt_kind_about[event->kind] != MT_ABOUT_MEMORY || event->device == MT_NO_DEVICE)
        return rc;
    note_totals(&followed->usage[slot], replay, slot);
    beside = mt_gathering_beside(followed->gathering, slot) - beside;
    rc = mt_repeat_note(repeat, mt_follow_replay(followed->follow), event, beside);
    if (followed->steps != MT_ALL_STEPS)
        followed->is_known =
            followed->steps ? repeat->complete >= followed->steps : repeat->repeats;
    return rc;
}

/* --- traces ----------------------------------------------------------------------------------- */

struct mt_run_watch *mt_run_watch_create(const char *folder, uint32_t steps)
{
    struct mt_run_watch *watch = calloc(1, sizeof *watch);
    if (watch) {
        snprintf(watch->folder, sizeof watch->folder, "%s", folder);
        watch->steps = steps;
    }
    return watch;
}

static void destroy_one(struct followed *followed)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_repeat_clear(&followed->repeat[slot]);
    mt_gathering_destroy(followed->gathering);
    mt_follow_close(followed->follow);
    free(followed);
}

static int add(struct mt_run_watch *watch, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", watch->folder, name) >= (int)sizeof path ||
        watch->n == MOST_TRACES)
        return 0;
    for (size_t i = 0; i < watch->n; i++)
        if (!strcmp(watch->of[i]->path, path))
            return 0;
    struct followed *followed = calloc(1, sizeof *followed);
    if (!followed || !(followed->gathering = mt_gathering_create())) {
        free(followed);
        return -ENOMEM;
    }
    memcpy(followed->path, path, sizeof path);
    followed->steps = watch->steps;
    followed->watcher = (struct mt_watcher){note, followed};
    watch->of[watch->n++] = followed;
    return 0;
}

static int find_new(struct mt_run_watch *watch)
{
    DIR *folder = opendir(watch->folder);
    const struct dirent *entry;
    int rc = 0;
    while (folder && !rc && (entry = readdir(folder))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && !strcmp(dot, ".mtap"))
            rc = add(watch, entry->d_name);
    }
    if (folder)
        closedir(folder);
    return rc;
}

/* Read a trace's new events. A trace that is being created may have no header yet. */
static int poll_one(struct followed *followed, struct mt_trace_error *error)
{
    const struct mt_question question = {.watcher = &followed->watcher, .no_turns = true};
    int rc =
        followed->follow ? 0 : mt_follow_open(&followed->follow, followed->path, &question, error);
    if (rc && mt_trace_is_to_come(rc, error))
        return 0;
    if (rc || followed->is_over)
        return rc;
    while ((rc = mt_follow_poll(followed->follow, MOST_EVENTS, error)) > 0)
        continue;
    followed->is_over = mt_follow_is_over(followed->follow);
    return rc;
}

int mt_run_watch_poll(struct mt_run_watch *watch, struct mt_run_state *state, char *why,
                      size_t size)
{
    struct mt_trace_error error = {0};
    int rc = find_new(watch);
    *state = (struct mt_run_state){.traces = watch->n};
    for (size_t i = 0; i < watch->n && rc >= 0; i++) {
        const struct followed *followed = watch->of[i];
        rc = poll_one(watch->of[i], &error);
        state->n_known += followed->is_known;
        state->is_full |= followed->is_full;
        state->went_on |= followed->went_on;
        for (unsigned slot = 0; slot < MT_DEVICES; slot++)
            raise_to(&state->cuda, followed->usage[slot].cuda);
        state->found_none |=
            followed->follow && mt_follow_replay(followed->follow)->survey.is_cuda_out_of_memory;
    }
    if (rc < 0)
        snprintf(why, size, "%s", *error.text ? error.text : "out of memory");
    return rc < 0 ? rc : 0;
}

bool mt_run_watch_lacks_end(const struct mt_run_watch *watch, char *why, size_t size)
{
    char text[MT_ENDED_TEXT];
    for (size_t i = 0; i < watch->n; i++) {
        const struct followed *followed = watch->of[i];
        struct mt_ended ended;
        if (!followed->follow)
            continue;
        ended = mt_follow_ended(followed->follow);
        if (!ended.lacks_tail && ended.how != MT_ENDED_CUT)
            continue;
        snprintf(why, size, "%s; %s", mt_ended_text(text, &ended), ended.note);
        return true;
    }
    return false;
}

/* --- figures ---------------------------------------------------------------------------------- */

/* Return the memory of PyTorch and of others at one moment, since their peaks may be at different
 * moments. NULL: unknown. */
static const struct mt_requests *requests_of(const struct followed *followed, unsigned slot)
{
    for (size_t i = 0; i < followed->n_gathered; i++)
        if (mt_device_slot((int16_t)followed->requests[i].device) == slot)
            return followed->requests[i].knows_others ? &followed->requests[i] : NULL;
    return NULL;
}

static void sum_device(const struct followed *followed, unsigned slot, uint64_t context,
                       struct mt_outcome *outcome)
{
    const struct usage *usage = &followed->usage[slot];
    const struct mt_requests *requests = requests_of(followed, slot);
    uint64_t others = requests || usage->base < context ? context : usage->base;
    if (!usage->cuda)
        return;
    for (size_t i = 0; requests && i < requests->n; i++) {
        if (requests->request[i].kind == MT_REQUEST_OTHERS)
            others = requests->request[i].size > context ? requests->request[i].size : context;
        raise_to(&outcome->used, others + requests->recorded[i].reserved);
        raise_to(&outcome->floor, others + requests->recorded[i].allocated);
    }
    if (!requests) {
        raise_to(&outcome->used, others + usage->cuda);
        raise_to(&outcome->floor, others + usage->floor);
    }
    if (requests)
        raise_to(&outcome->handles, mt_handles_bytes(&requests->handles));
    raise_to(&outcome->reserved, usage->reserved);
    raise_to(&outcome->allocated, usage->allocated);
    if (followed->repeat[slot].complete > outcome->iterations)
        outcome->iterations = followed->repeat[slot].complete;
}

static void sum_trace(const struct followed *followed, uint64_t context, struct mt_outcome *outcome)
{
    const struct mt_replay *replay = mt_follow_replay(followed->follow);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        sum_device(followed, slot, context, outcome);
    if (replay->survey.kinds[MT_ALLOC])
        outcome->flushes += replay->survey.failed_cuda;
    if (!outcome->workspaces || !*outcome->workspaces || replay->unsimulated.fastest_workspaces)
        outcome->workspaces = mt_unsimulated_workspaces_text(&replay->unsimulated);
    if (!*outcome->cudnn)
        mt_cudnn_text(outcome->cudnn, &replay->unsimulated, replay->definitions);
    if (!*outcome->unknown)
        mt_unsimulated_text(outcome->unknown, &replay->unsimulated, replay->definitions);
}

MT_ORDER_OF_POINTERS(by_path, struct followed, MT_BY_TEXT(path))

void mt_run_watch_finish(struct mt_run_watch *watch, uint64_t context, struct mt_outcome *outcome,
                         int file)
{
    int rc = outcome->end == MT_FIT_FITS || outcome->end == MT_FIT_FULL ? 0 : -EINVAL;
    qsort(watch->of, watch->n, sizeof *watch->of, by_path);
    for (size_t i = 0; i < watch->n; i++) {
        struct followed *followed = watch->of[i];
        if (!followed->follow)
            continue;
        followed->requests = mt_gathering_finish(followed->gathering, &followed->n_gathered);
        sum_trace(followed, context, outcome);
        for (size_t j = 0; j < followed->n_gathered && !rc; j++)
            rc = mt_request_log_write(file, &followed->requests[j],
                                      mt_follow_replay(followed->follow)->definitions);
    }
    if (rc && ftruncate(file, 0))
        return; /* the anonymous file shrinks */
}

void mt_run_watch_destroy(struct mt_run_watch *watch)
{
    for (size_t i = 0; watch && i < watch->n; i++)
        destroy_one(watch->of[i]);
    free(watch);
}
