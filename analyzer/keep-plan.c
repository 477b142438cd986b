/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-plan.h"
#include "grow.h"
#include "keep-moments.h"
#include "replay-parts.h"

#include <inttypes.h>
#include <stdio.h>

/* A block that is live: the event that made it, and the labels that said something new. */
struct life {
    struct mt_candidate *event;
    size_t n, capacity;
    size_t moments; /* that had passed when it was made */
    int is_wanted;  /* kept, however long it lives */
    struct {
        uint64_t elements;
        uint32_t evidence, save_stack, name, dtype;
    } known;       /* by the labels so far */
    uint32_t next; /* that is free */
};

/* What each device has had so far. */
struct device_state {
    size_t spans; /* that were seen of it */
    int has_least;
    uint64_t reserved;
};

struct planner {
    struct mt_keep_plan *plan;
    const struct mt_replay *whole; /* of the first pass */
    struct mt_keep_moments moments;
    struct mt_keep_nodes nodes;
    struct life *life; /* 1 .. n_lives - 1 */
    uint32_t n_lives, first_free;
    size_t lives_capacity;
    struct mt_address_map by_address;
    struct device_state device[MT_DEVICES];
    uint64_t ooms;
    int after_oom, saw_gradient;
    /* Of the tracker, after the last event. */
    struct mt_when now;
    uint32_t leader, steps_begun, steps_ended;
    int saw_parameters;
};

static void keep_event(struct planner *p, uint64_t number)
{
    mt_candidate_keep(&p->nodes, mt_candidate_take(&p->nodes, number));
}

/* The event is needed for what it says besides its block, which is not kept for it. */
static void keep_totals(struct planner *p, uint64_t number)
{
    unsigned char bit = (unsigned char)(1 << number % 8);
    if (mt_kept_has(p->plan->kept.bits, number))
        return;
    keep_event(p, number);
    p->plan->kept.totals[number / 8] |= bit;
}

static void keep_whole(struct planner *p, struct mt_candidate candidate)
{
    p->plan->kept.totals[candidate.number / 8] &= (unsigned char)~(1 << candidate.number % 8);
    mt_candidate_keep(&p->nodes, candidate);
}

/* Moments at which all that is live is kept, so far. */
static size_t moments_passed(struct planner *p, uint64_t number)
{
    return mt_marks_below(&p->moments.after_event, number) +
           (p->ooms && p->ooms == p->whole->survey.kinds[MT_OOM]);
}

static uint32_t new_life(struct planner *p)
{
    uint32_t index = p->first_free;
    if (index) {
        p->first_free = p->life[index].next;
        return index;
    }
    index = p->n_lives ? p->n_lives : 1;
    if (mt_grow(&p->life, &p->lives_capacity, index + (size_t)1, sizeof *p->life))
        return 0;
    p->n_lives = index + 1;
    return index;
}

static int add_event(struct planner *p, struct life *life, uint64_t number)
{
    if (mt_grow(&life->event, &life->capacity, life->n + 1, sizeof *life->event))
        return -ENOMEM;
    life->event[life->n++] = mt_candidate_take(&p->nodes, number);
    return 0;
}

/* Ends a life; whether it is kept. */
static int end_life(struct planner *p, uint32_t index, size_t moments)
{
    struct life *life = &p->life[index];
    int is_kept = life->is_wanted || life->moments != moments;
    for (size_t i = 0; i < life->n; i++)
        if (is_kept)
            keep_whole(p, life->event[i]);
        else
            mt_candidate_drop(&p->nodes, life->event[i]);
    free(life->event);
    *life = (struct life){.next = p->first_free};
    p->first_free = index;
    return is_kept;
}

static int begin_life(struct planner *p, const struct mt_event *event, uint64_t number,
                      size_t moments, int is_wanted)
{
    uint32_t before = mt_address_map_take(&p->by_address, event->arg[0]);
    if (before) /* its free is missing: this event has to end it */
        is_wanted |= end_life(p, before, moments);
    uint32_t index = new_life(p);
    if (!index || mt_address_map_put(&p->by_address, event->arg[0], index))
        return -ENOMEM;
    p->life[index] = (struct life){.moments = moments, .is_wanted = is_wanted};
    return add_event(p, &p->life[index], number);
}

/* Whether the label on a block says what was not known; then it is. */
static int is_news(struct life *life, const struct mt_block *block)
{
    if (life->known.elements == block->elements && life->known.evidence == block->evidence &&
        life->known.save_stack == block->save_stack && life->known.name == block->name &&
        life->known.dtype == block->dtype)
        return 0;
    life->known.elements = block->elements;
    life->known.evidence = block->evidence;
    life->known.save_stack = block->save_stack;
    life->known.name = block->name;
    life->known.dtype = block->dtype;
    return 1;
}

/* The heaps are looked through, as the tracker does it: that changes nothing of what is in them. */
static int see_label(struct planner *p, const struct mt_replay *replay,
                     const struct mt_event *event, uint64_t address, uint64_t number)
{
    struct mt_heap *blocks = (struct mt_heap *)&replay->blocks;
    struct mt_block *block = address ? mt_heap_around(blocks, address) : NULL;
    uint32_t index = block ? mt_address_map_get(&p->by_address, block->address) : 0;
    if (index)
        return is_news(&p->life[index], block) ? add_event(p, &p->life[index], number) : 0;
    if (mt_replay_is_of_cuda(replay, mt_device_slot(event->device)))
        keep_event(p, number);
    return 0;
}

/* What the tracker knows has changed by the event, other than about a block. */
static int changes_state(struct planner *p, const struct mt_tracker *tracker)
{
    int changed = p->now.epoch != tracker->now.epoch || p->now.run != tracker->now.run ||
                  p->leader != tracker->leader || p->steps_begun != tracker->steps_begun ||
                  p->steps_ended != tracker->steps_ended ||
                  p->saw_parameters != tracker->saw_parameters;
    p->now = tracker->now;
    p->leader = tracker->leader;
    p->steps_begun = tracker->steps_begun;
    p->steps_ended = tracker->steps_ended;
    p->saw_parameters = tracker->saw_parameters;
    return changed;
}

/* The first of a phase, its lowest, and what is the highest of something. */
static int has_totals(struct planner *p, const struct mt_replay *replay,
                      const struct mt_event *event, uint64_t number)
{
    unsigned slot = mt_device_slot(event->device);
    struct device_state *device = &p->device[slot];
    size_t n = replay->spans[slot].n;
    const struct mt_spans *whole = &p->whole->spans[slot];
    int is_first = n != device->spans, is_highest = event->arg[3] > device->reserved;
    if (is_first)
        device->has_least = 0;
    int is_least =
        !device->has_least && n && n <= whole->n && whole->span[n - 1].least == event->arg[2];
    device->has_least |= is_least;
    device->spans = n;
    if (is_highest)
        device->reserved = event->arg[3];
    return is_first || is_least || is_highest || mt_marks_has(&p->moments.totals, number);
}

/* The first event of a device tells what was there before; an allocation after memory ran out, that
 * the program went on. */
static int see_block(struct planner *p, const struct mt_replay *replay,
                     const struct mt_event *event, uint64_t number, size_t moments)
{
    int is_first = !p->device[mt_device_slot(event->device)].spans;
    int is_wanted = is_first || (event->kind == MT_ALLOC && p->after_oom);
    int rc = 0, is_kept = 0;
    if (event->kind == MT_ALLOC) {
        p->after_oom = 0;
        rc = begin_life(p, event, number, moments, is_wanted);
    } else {
        uint32_t index = mt_address_map_take(&p->by_address, event->arg[0]);
        is_kept = index ? end_life(p, index, moments) : is_first;
    }
    if (is_kept)
        keep_event(p, number);
    if (has_totals(p, replay, event, number))
        keep_totals(p, number);
    return rc;
}

static uint64_t labelled_address(const struct mt_event *event)
{
    return event->arg[event->kind == MT_NODE_NEW];
}

static int see_kind(struct planner *p, const struct mt_replay *replay, const struct mt_event *event,
                    uint64_t number, size_t moments)
{
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
        return see_block(p, replay, event, number, moments);
    case MT_GRADIENT:
        if (!p->saw_gradient)
            keep_event(p, number);
        p->saw_gradient = 1;
        return see_label(p, replay, event, labelled_address(event), number);
    case MT_SAVED:
    case MT_LEAF:
    case MT_SET_DATA:
    case MT_REQUIRES_GRAD:
    case MT_NAMED:
    case MT_NODE_NEW:
        return see_label(p, replay, event, labelled_address(event), number);
    case MT_NODE_BEGIN:
    case MT_NODE_END:
        return 0;
    case MT_CUDA_COPY:
    case MT_CUDA_SET:
        if (mt_replay_is_of_cuda(replay, mt_device_slot(event->device)))
            keep_event(p, number);
        return 0;
    case MT_OOM:
        p->after_oom = 1;
        p->ooms++;
        break;
    }
    keep_event(p, number);
    return 0;
}

static int saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct planner *p = data;
    uint64_t number = replay->events;
    if (mt_kept_reach(&p->plan->kept, number) || mt_keep_nodes_event(&p->nodes, event, number))
        return -ENOMEM;
    size_t moments = moments_passed(p, number);
    int rc = see_kind(p, replay, event, number, moments);
    /* The last event says how long it was recorded. */
    if (changes_state(p, &replay->tracker) || number == p->whole->events)
        keep_totals(p, number);
    return rc;
}

static void clear(struct planner *p)
{
    for (uint32_t i = 1; i < p->n_lives; i++)
        free(p->life[i].event);
    free(p->life);
    mt_address_map_clear(&p->by_address);
    mt_keep_nodes_clear(&p->nodes);
    mt_keep_moments_clear(&p->moments);
}

/* What is live at the end is kept. */
static void finish(struct planner *p)
{
    for (uint32_t i = 1; i < p->n_lives; i++)
        if (p->life[i].n)
            end_life(p, i, SIZE_MAX);
}

static int decide(struct mt_keep_plan *plan, const char *path, const struct mt_replay *whole,
                  struct mt_trace_error *error)
{
    struct planner planner = {.plan = plan, .whole = whole, .nodes = {.kept = &plan->kept}};
    const struct mt_watcher watcher = {saw, &planner};
    const struct mt_question question = {.watcher = &watcher};
    struct mt_replay replay = {0};
    int rc = mt_keep_moments_choose(&planner.moments, whole);
    if (!rc)
        rc = mt_kept_reach(&plan->kept, whole->events);
    if (!rc)
        rc = mt_replay(path, &question, &replay, error);
    if (!rc)
        finish(&planner);
    mt_replay_clear(&replay);
    clear(&planner);
    return rc;
}

static int add_info(struct mt_keep_plan *plan, const char *text)
{
    if (mt_grow(&plan->info, &plan->info_capacity, plan->n_info + 1, sizeof *plan->info))
        return -ENOMEM;
    plan->info[plan->n_info] = strdup(text);
    return plan->info[plan->n_info++] ? 0 : -ENOMEM;
}

static int describe_worst(struct mt_keep_plan *plan, unsigned slot, const struct mt_worst *worst)
{
    char text[192];
    snprintf(text, sizeof text,
             MT_WHOLE "worst.%d=%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                      " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32,
             (int)slot - 1, worst->times, worst->time_ns, worst->event, worst->wanted,
             worst->lay_free, worst->reserved, worst->stack, worst->node_name, worst->unlabelled);
    return worst->times ? add_info(plan, text) : 0;
}

/* What is told of the whole run: over time, and of places. */
static int describe(struct mt_keep_plan *plan, unsigned slot, const struct mt_replay *whole)
{
    char text[MT_TEXT_LIMIT];
    const struct mt_places *places = &whole->places[slot];
    int n = snprintf(text, sizeof text, MT_WHOLE "chart.%d=", (int)slot - 1), rc;
    mt_timeline_print(&whole->timeline[slot], text + n, sizeof text - (size_t)n);
    rc = add_info(plan, text);
    if (!rc)
        rc = describe_worst(plan, slot, &whole->worst[slot]);
    for (size_t i = 0, part = 0; !rc && i < places->n; part++) {
        n = snprintf(text, sizeof text, MT_WHOLE "places.%d.%zu=", (int)slot - 1, part);
        i = mt_places_print(places, i, text + n, sizeof text - (size_t)n);
        rc = add_info(plan, text);
    }
    return rc;
}

static int describe_all(struct mt_keep_plan *plan, const struct mt_replay *whole)
{
    char text[128];
    const struct mt_oddities *odd = &whole->oddities;
    snprintf(text, sizeof text, MT_WHOLE "oddities=%llu %llu %llu %llu",
             (unsigned long long)odd->replaced, (unsigned long long)odd->unknown,
             (unsigned long long)odd->wrong_size, (unsigned long long)odd->drift);
    int rc = add_info(plan, text);
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++)
        if (whole->timeline[slot].change)
            rc = describe(plan, slot, whole);
    return rc;
}

int mt_keep_plan_make(struct mt_keep_plan *plan, const char *path, struct mt_trace_error *error)
{
    const struct mt_question question = {.whole_run = 1};
    struct mt_replay whole = {0};
    *plan = (struct mt_keep_plan){0};
    int rc = mt_replay(path, &question, &whole, error);
    if (!rc && error->fault)
        rc = -EINVAL;
    plan->events = whole.survey.events;
    plan->bytes = whole.survey.bytes;
    plan->is_complete = whole.survey.complete;
    plan->end = whole.survey.end;
    if (!rc)
        rc = describe_all(plan, &whole);
    plan->is_compact = whole.definitions && mt_info(whole.definitions, "compact") != NULL;
    if (!rc && !plan->is_compact)
        rc = decide(plan, path, &whole, error);
    mt_replay_clear(&whole);
    return rc;
}

void mt_keep_plan_clear(struct mt_keep_plan *plan)
{
    mt_kept_clear(&plan->kept);
    for (size_t i = 0; i < plan->n_info; i++)
        free(plan->info[i]);
    free(plan->info);
}
