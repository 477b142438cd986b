/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-moments.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"

#include <errno.h>

/* So many events may go to moments besides peaks: a moment keeps all its live blocks, most of which
 * other moments keep too. A block takes about four events: allocation, labels, free. */
#define EVENTS_OF(events) ((events) / 250 > 4000 ? (events) / 250 : 4000)
#define EVENTS_A_BLOCK 4u
#define LEAST_STEPS 3u
#define MOST_STEPS 16u

/* Add a mark. 0 or -ENOMEM. */
static int marks_add(struct mt_marks_list *list, uint64_t number)
{
    return MT_APPEND(list->number, list->capacity, list->n, number);
}

void mt_marks_sort(struct mt_marks_list *list)
{
    list->n = mt_sort_once(list->number, list->n);
}

static void marks_clear(struct mt_marks_list *list)
{
    free(list->number);
    *list = (struct mt_marks_list){0};
}

/* Keep the live blocks after the event, and their totals. */
static int add_whole(struct mt_keep_moments *moments, uint64_t number)
{
    int rc = marks_add(&moments->after_event, number);
    return rc ? rc : marks_add(&moments->totals, number);
}

/* Add the highest moment of an iteration, and its begin and the next one's. */
static int add_step(struct mt_keep_moments *moments, const struct mt_spans *spans, size_t number)
{
    const struct mt_span *highest = mt_spans_of_iteration(spans, number);
    int rc = highest ? add_whole(moments, highest->most_event) : 0;
    for (size_t i = number; !rc && i <= number + 1; i++) {
        const struct mt_span *first = mt_spans_begin_of(spans, i);
        if (first && first->before)
            rc = add_whole(moments, first->before);
    }
    return rc;
}

/* Add the first iteration, the last, and others evenly between. */
static int add_steps(struct mt_keep_moments *moments, const struct mt_spans *spans, size_t n)
{
    int rc = 0;
    if (spans->iterations < n)
        n = spans->iterations;
    for (size_t i = 0; !rc && i < n; i++) {
        size_t last = spans->iterations - 1;
        rc = add_step(moments, spans, 1 + (n > 1 ? i * last / (n - 1) : last));
    }
    return rc;
}

/* Add the highest moment of each phase: compare needs it if the two runs' peaks are in different
 * phases. */
static int add_phases(struct mt_keep_moments *moments, const struct mt_spans *spans)
{
    const struct mt_span *highest[MT_PHASE_STEP + 1] = {NULL};
    int rc = 0;
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i], **best = &highest[span->phase];
        if (!*best || span->most > (*best)->most)
            *best = span;
    }
    for (size_t i = 0; !rc && i < sizeof highest / sizeof *highest; i++)
        rc = highest[i] ? add_whole(moments, highest[i]->most_event) : 0;
    return rc;
}

static size_t between(size_t least, size_t n, size_t most)
{
    return n < least ? least : n < most ? n : most;
}

static int choose_on_device(struct mt_keep_moments *moments, const struct mt_replay *replay,
                            const struct mt_keep_scout *scout, unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    int rc, of_cuda = mt_replay_is_of_cuda(replay, slot);
    const struct mt_totals *peak = &mt_replay_level(replay, of_cuda)->peak[slot];
    if (!peak->event)
        return 0;
    /* These two events show the device's last use. */
    if (of_cuda && (marks_add(&moments->totals, replay->of_cuda.now[slot].event) ||
                    marks_add(&moments->totals, scout->before_oom[slot])))
        return -ENOMEM;
    const struct mt_heap *heap = of_cuda ? &replay->cuda.heap : &replay->blocks;
    size_t blocks = 1;
    for (uint32_t i = 1; i < heap->n_records; i++)
        blocks += mt_heap_is_remembered(heap, mt_heap_record(heap, i));
    size_t room = EVENTS_OF(replay->events) / EVENTS_A_BLOCK / blocks;
    rc = marks_add(&moments->after_event, peak->event);
    if (!rc && replay->reserved.most[slot].event)
        rc = add_whole(moments, replay->reserved.most[slot].event);
    if (!rc)
        rc = add_steps(moments, spans, between(LEAST_STEPS, room, MOST_STEPS));
    if (!rc)
        rc = add_phases(moments, spans);
    for (size_t i = 0; !rc && i < spans->n && !spans->turns; i++)
        rc = marks_add(&moments->totals, spans->span[i].most_event);
    for (size_t i = 0; !rc && i < replay->tracker.ranges.device[slot].n; i++)
        rc = marks_add(&moments->totals, replay->tracker.ranges.device[slot].most[i].event);
    return rc;
}

/* Add the sample before a moment, and the one after it. */
static int add_samples_around(struct mt_marks_list *to, const struct mt_marks_list *samples,
                              uint64_t moment)
{
    size_t low = MT_LEADING(i, samples->n, samples->number[i] <= moment);
    int rc = low ? marks_add(to, samples->number[low - 1]) : 0;
    return rc || low == samples->n ? rc : marks_add(to, samples->number[low]);
}

/* Add the samples: a report at a moment shows one of the device, and needs CUDA's blocks at that
 * sample. All of PyTorch's segments are kept. */
static int add_samples(struct mt_keep_moments *moments, const struct mt_replay *replay,
                       const struct mt_keep_scout *scout)
{
    size_t n = moments->after_event.n;
    int rc = 0;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        if (!mt_replay_is_of_cuda(replay, slot))
            continue;
        for (size_t i = 0; !rc && i < n; i++)
            rc = add_samples_around(&moments->after_event, &scout->samples[slot],
                                    moments->after_event.number[i]);
        /* The first sample, and the last. */
        if (!rc)
            rc = add_samples_around(&moments->after_event, &scout->samples[slot], 0);
        if (!rc)
            rc = add_samples_around(&moments->after_event, &scout->samples[slot], replay->events);
    }
    return rc;
}

int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay,
                           const struct mt_keep_scout *scout)
{
    int rc = 0;
    *moments = (struct mt_keep_moments){0};
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++)
        rc = choose_on_device(moments, replay, scout, slot);
    if (!rc && scout->last_oom)
        rc = marks_add(&moments->after_event, scout->last_oom);
    if (!rc && replay->host.most_event)
        rc = marks_add(&moments->after_event, replay->host.most_event);
    if (!rc)
        rc = add_samples(moments, replay, scout);
    mt_marks_sort(&moments->after_event);
    mt_marks_sort(&moments->totals);
    return rc;
}

void mt_keep_moments_clear(struct mt_keep_moments *moments)
{
    marks_clear(&moments->after_event);
    marks_clear(&moments->totals);
}

static void note_free(struct mt_keep_scout *scout, uint64_t address, uint64_t number)
{
    unsigned at = scout->next++ % MT_SCOUT_RECENT;
    scout->recent[at].address = address;
    scout->recent[at].number = number;
}

/* Note that the newest free of the address failed. */
static int note_failure(struct mt_keep_scout *scout, uint64_t address)
{
    for (unsigned i = 1; i <= MT_SCOUT_RECENT; i++) {
        unsigned at = (scout->next - i) % MT_SCOUT_RECENT;
        uint64_t number = scout->recent[at].number;
        if (!number || scout->recent[at].address != address)
            continue;
        scout->recent[at].number = 0;
        return marks_add(&scout->failed, number);
    }
    return 0;
}

static void note_oom(struct mt_keep_scout *scout, const struct mt_replay *replay)
{
    scout->last_oom = replay->events;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        scout->before_oom[slot] = replay->of_cuda.now[slot].event;
}

int mt_keep_scout_saw(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_keep_scout *scout = data;
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    switch (event->kind) {
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_ASYNC:
        note_free(scout, event->address, replay->events);
        return 0;
    case MT_CUDA_FREE_FAILED:
        return note_failure(scout, event->address);
    case MT_DEVICE_MEMORY:
        return marks_add(&scout->samples[mt_device_slot(event->device)], replay->events);
    case MT_OOM:
        note_oom(scout, replay);
        return 0;
    case MT_CUDA_MALLOC:
        if (!event->address && oom && (oom->of_cuda || oom->of_library) &&
            oom->time_ns == event->time_ns)
            note_oom(scout, replay);
        return 0;
    }
    return 0;
}

void mt_keep_scout_clear(struct mt_keep_scout *scout)
{
    marks_clear(&scout->failed);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        marks_clear(&scout->samples[slot]);
}
