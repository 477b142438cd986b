/* SPDX-License-Identifier: Apache-2.0 */
#include "watch-run.h"
#include "analyzer/replay/follow.h"
#include "analyzer/support/grow.h"
#include "need.h"
#include "repeat.h"
#include "request-log.h"
#include "tools/fit/job/job.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#define MOST_TRACES 64u
#define MOST_EVENTS 1000000u
#define HEADER 32u /* a file that has less is about to be begun */

/* What was taken of a card, apart from its context; bytes. */
struct taken {
    uint64_t cuda, floor; /* the most */
    uint64_t allocated, reserved;
    uint64_t base; /* what else, by what the card said */
};

struct followed {
    char path[PATH_MAX];
    struct mt_follow *follow;
    struct mt_watcher watcher;
    struct taken taken[MT_DEVICES];
    struct mt_repeat repeat[MT_DEVICES];
    struct mt_gathering *gathering;
    const struct mt_asked *asked; /* of its devices, once it has ended */
    size_t n_asked;
    uint32_t steps;
    uint64_t wanted;
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

/* What the card holds beside what CUDA handed out: the context, and what CUDA's modules take. */
static void see_sample(struct followed *followed, const struct mt_replay *replay,
                       const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t used = event->DEVICE_MEMORY.total - event->DEVICE_MEMORY.free;
    uint64_t cuda = replay->cuda.heap.total[slot].bytes;
    raise_to(&followed->taken[slot].base, used > cuda ? used - cuda : 0);
}

static void see_totals(struct taken *taken, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_totals *now = &replay->now[slot];
    uint64_t cuda = replay->cuda.heap.total[slot].bytes;
    uint64_t cached = now->reserved > now->allocated ? now->reserved - now->allocated : 0;
    raise_to(&taken->cuda, cuda > now->reserved ? cuda : now->reserved);
    raise_to(&taken->floor, cuda > cached ? cuda - cached : now->allocated);
    raise_to(&taken->allocated, now->event ? now->allocated : cuda);
    raise_to(&taken->reserved, now->event ? now->reserved : cuda);
}

static void see_out_of_memory(struct followed *followed, const struct mt_replay *replay)
{
    const struct mt_oom *last = &replay->ooms[(replay->n_ooms - 1) % MT_OOMS_KEPT];
    followed->is_full = 1;
    followed->wanted = replay->ooms[0].wanted;
    followed->went_on |= last->went_on || replay->n_ooms > 1;
}

/* One device may train while another only holds data: the one that trains says what is known. */
static void see_iterations(struct followed *followed, unsigned slot)
{
    const struct mt_repeat *repeat = &followed->repeat[slot];
    if (followed->steps == MT_ALL_STEPS)
        return;
    followed->is_known |= followed->steps ? repeat->complete >= followed->steps : repeat->repeats;
}

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct followed *followed = data;
    unsigned slot = mt_device_slot(event->device);
    size_t beside = mt_gathering_beside(followed->gathering, slot);
    if (followed->is_known) /* what is printed is not to depend on when the run was ended */
        return 0;
    int rc = mt_gather(followed->gathering, replay, event);
    if (replay->n_ooms)
        see_out_of_memory(followed, replay);
    if (event->kind == MT_DEVICE_MEMORY)
        see_sample(followed, replay, event);
    if (rc || mt_kind_about[event->kind] != MT_ABOUT_MEMORY || event->device == MT_NO_DEVICE)
        return rc;
    see_totals(&followed->taken[slot], replay, slot);
    beside = mt_gathering_beside(followed->gathering, slot) - beside;
    rc = mt_repeat_saw(&followed->repeat[slot], mt_follow_replay(followed->follow), event, beside);
    see_iterations(followed, slot);
    return rc;
}

struct mt_run_watch *mt_run_watch_create(const char *folder, uint32_t steps)
{
    struct mt_run_watch *watch = calloc(1, sizeof *watch);
    if (watch) {
        snprintf(watch->folder, sizeof watch->folder, "%s", folder);
        watch->steps = steps;
    }
    return watch;
}

static bool is_there(const struct mt_run_watch *watch, const char *path)
{
    for (size_t i = 0; i < watch->n; i++)
        if (!strcmp(watch->of[i]->path, path))
            return 1;
    return 0;
}

static int add(struct mt_run_watch *watch, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", watch->folder, name) >= (int)sizeof path ||
        is_there(watch, path) || watch->n == MOST_TRACES)
        return 0;
    struct followed *followed = calloc(1, sizeof *followed);
    if (followed)
        followed->gathering = mt_gathering_create();
    if (!followed || !followed->gathering) {
        free(followed);
        return -ENOMEM;
    }
    memcpy(followed->path, path, sizeof path);
    followed->steps = watch->steps;
    followed->watcher = (struct mt_watcher){saw, followed};
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

/* A trace that is about to be made may have no header yet. */
static int open_trace(struct followed *followed, struct mt_trace_error *error)
{
    const struct mt_question question = {.watcher = &followed->watcher};
    int rc = mt_follow_open(&followed->follow, followed->path, &question, error);
    int is_to_come = rc && (rc == -ENOENT || error->fault == MT_FAULT_EMPTY ||
                            (error->fault == MT_FAULT_CUT && error->offset < HEADER));
    return is_to_come ? -EAGAIN : rc;
}

static int poll_one(struct followed *followed, struct mt_trace_error *error)
{
    int rc = followed->follow ? 0 : open_trace(followed, error);
    if (rc || followed->is_over)
        return rc == -EAGAIN ? 0 : rc;
    while ((rc = mt_follow_poll(followed->follow, MOST_EVENTS, error)) > 0)
        continue;
    followed->is_over = mt_follow_is_over(followed->follow);
    return rc;
}

int mt_run_watch_poll(struct mt_run_watch *watch, char *why, size_t size)
{
    struct mt_trace_error error = {0};
    int rc = find_new(watch);
    for (size_t i = 0; i < watch->n && !rc; i++)
        rc = poll_one(watch->of[i], &error);
    if (rc < 0)
        snprintf(why, size, "%s", *error.text ? error.text : "out of memory");
    return rc < 0 ? rc : 0;
}

bool mt_run_watch_is_full(const struct mt_run_watch *watch)
{
    for (size_t i = 0; i < watch->n; i++)
        if (watch->of[i]->is_full)
            return 1;
    return 0;
}

bool mt_run_watch_went_on(const struct mt_run_watch *watch)
{
    for (size_t i = 0; i < watch->n; i++)
        if (watch->of[i]->went_on)
            return 1;
    return 0;
}

bool mt_run_watch_found_none(const struct mt_run_watch *watch)
{
    for (size_t i = 0; i < watch->n; i++)
        if (watch->of[i]->follow &&
            mt_follow_replay(watch->of[i]->follow)->survey.is_cuda_out_of_memory)
            return 1;
    return 0;
}

bool mt_run_watch_knows(const struct mt_run_watch *watch, size_t processes)
{
    size_t known = 0;
    for (size_t i = 0; i < watch->n; i++)
        known += (size_t)watch->of[i]->is_known;
    return known && known >= processes && known == watch->n;
}

size_t mt_run_watch_traces(const struct mt_run_watch *watch)
{
    return watch->n;
}

static uint64_t flushes_of(const struct followed *followed)
{
    const struct mt_survey *survey = &mt_follow_replay(followed->follow)->survey;
    return survey->kinds[MT_ALLOC] ? survey->failed_cuda : 0;
}

/* What PyTorch had and what others had at one moment: the most of each may be of two. NULL: there
 * is no such. */
static const struct mt_asked *asked_of(const struct followed *followed, unsigned slot)
{
    for (size_t i = 0; i < followed->n_asked; i++)
        if (mt_device_slot((int16_t)followed->asked[i].device) == slot)
            return followed->asked[i].knows_others ? &followed->asked[i] : NULL;
    return NULL;
}

static void sum_asked(const struct mt_asked *asked, uint64_t context, struct mt_outcome *outcome)
{
    uint64_t others = context;
    for (size_t i = 0; i < asked->n; i++) {
        if (asked->request[i].kind == MT_REQUEST_OTHERS)
            others = asked->request[i].size > context ? asked->request[i].size : context;
        raise_to(&outcome->used, others + asked->recorded[i].reserved);
        raise_to(&outcome->floor, others + asked->recorded[i].allocated);
    }
}

static void sum_device(const struct followed *followed, unsigned slot, uint64_t context,
                       struct mt_outcome *outcome)
{
    const struct taken *taken = &followed->taken[slot];
    const struct mt_asked *asked = asked_of(followed, slot);
    uint64_t base = taken->base > context ? taken->base : context;
    if (!taken->cuda)
        return;
    if (asked) {
        sum_asked(asked, context, outcome);
    } else {
        raise_to(&outcome->used, base + taken->cuda);
        raise_to(&outcome->floor, base + taken->floor);
    }
    raise_to(&outcome->reserved, taken->reserved);
    raise_to(&outcome->allocated, taken->allocated);
    if (followed->repeat[slot].complete > outcome->iterations)
        outcome->iterations = followed->repeat[slot].complete;
}

/* The most that a device of the run needs; 0 where that is not known of one. */
static uint64_t need_of(const struct followed *followed, const struct mt_outcome *outcome)
{
    uint64_t need = 0;
    const struct mt_replay *replay = mt_follow_replay(followed->follow);
    for (size_t i = 0; i < followed->n_asked; i++) {
        uint64_t of_one = mt_run_need(&followed->asked[i], replay->definitions, 0, outcome->used);
        if (!of_one)
            return 0;
        raise_to(&need, of_one);
    }
    return need;
}

static void find_need(const struct mt_run_watch *watch, struct mt_outcome *outcome)
{
    for (size_t i = 0; i < watch->n; i++) {
        uint64_t need = watch->of[i]->follow ? need_of(watch->of[i], outcome) : 0;
        if (!need) {
            outcome->need = 0;
            return;
        }
        raise_to(&outcome->need, need);
    }
}

static void see_unknown(const struct mt_replay *replay, struct mt_outcome *outcome)
{
    if (!*outcome->unknown)
        mt_uncomputed_text(outcome->unknown, &replay->uncomputed, replay->definitions);
}

void mt_run_watch_sum(const struct mt_run_watch *watch, uint64_t context,
                      struct mt_outcome *outcome)
{
    for (size_t i = 0; i < watch->n; i++) {
        const struct followed *followed = watch->of[i];
        if (!followed->follow)
            continue;
        for (unsigned slot = 0; slot < MT_DEVICES; slot++)
            sum_device(followed, slot, context, outcome);
        outcome->flushes += flushes_of(followed);
        see_unknown(mt_follow_replay(followed->follow), outcome);
        raise_to(&outcome->wanted, followed->wanted);
    }
    if (outcome->end == MT_FIT_FITS)
        find_need(watch, outcome);
}

static int by_path(const void *a, const void *b)
{
    const struct followed *const *one = a, *const *other = b;
    return strcmp((*one)->path, (*other)->path);
}

void mt_run_watch_finish(struct mt_run_watch *watch)
{
    qsort(watch->of, watch->n, sizeof *watch->of, by_path);
    for (size_t i = 0; i < watch->n; i++) {
        struct followed *followed = watch->of[i];
        if (followed->follow)
            followed->asked = mt_gathering_finish(followed->gathering, &followed->n_asked);
    }
}

void mt_run_watch_record(const struct mt_run_watch *watch, int file)
{
    int rc = 0;
    for (size_t i = 0; i < watch->n && !rc; i++) {
        const struct followed *followed = watch->of[i];
        for (size_t j = 0; j < followed->n_asked && !rc; j++)
            rc = mt_request_log_write(file, &followed->asked[j],
                                      mt_follow_replay(followed->follow)->definitions);
    }
    if (rc)
        mt_request_log_forget(file);
}

static void destroy_one(struct followed *followed)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_repeat_clear(&followed->repeat[slot]);
    mt_gathering_destroy(followed->gathering);
    mt_follow_close(followed->follow);
    free(followed);
}

void mt_run_watch_destroy(struct mt_run_watch *watch)
{
    for (size_t i = 0; watch && i < watch->n; i++)
        destroy_one(watch->of[i]);
    free(watch);
}
