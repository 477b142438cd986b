/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-moments.h"
#include "grow.h"
#include "replay-parts.h"

/* So many events may go to moments besides peaks: each keeps what is live at it, of which most is
 * live at others too. A block takes about four: it is made, labelled, freed. */
#define EVENTS_OF(events) ((events) / 250 > 4000 ? (events) / 250 : 4000)
#define EVENTS_A_BLOCK 4u
#define LEAST_STEPS 3u
#define MOST_STEPS 16u

static int add(struct mt_marks_list *list, uint64_t number)
{
    if (mt_grow(&list->number, &list->capacity, list->n + 1, sizeof *list->number))
        return -ENOMEM;
    list->number[list->n++] = number;
    return 0;
}

static int rising(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(struct mt_marks_list *list)
{
    size_t kept = 0;
    if (list->n)
        qsort(list->number, list->n, sizeof *list->number, rising);
    for (size_t i = 0; i < list->n; i++)
        if (!kept || list->number[kept - 1] != list->number[i])
            list->number[kept++] = list->number[i];
    list->n = kept;
}

/* The highest moment of an iteration: the span of it that is highest. */
static const struct mt_span *highest_of(const struct mt_spans *spans, uint32_t iteration)
{
    const struct mt_span *best = NULL;
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].iteration == iteration && (!best || spans->span[i].most > best->most))
            best = &spans->span[i];
    return best;
}

/* The first, the last, and others evenly between. */
static int add_steps(struct mt_keep_moments *moments, const struct mt_spans *spans, size_t n)
{
    int rc = 0;
    if (spans->iterations < n)
        n = spans->iterations;
    for (size_t i = 0; !rc && i < n; i++) {
        size_t last = spans->iterations - 1;
        const struct mt_span *span =
            highest_of(spans, (uint32_t)(1 + (n > 1 ? i * last / (n - 1) : last)));
        if (span)
            rc = add(&moments->after_event, span->most_event);
    }
    return rc;
}

static size_t between(size_t least, size_t n, size_t most)
{
    return n < least ? least : n < most ? n : most;
}

static int choose_on_device(struct mt_keep_moments *moments, const struct mt_replay *replay,
                            unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    int rc, of_cuda = mt_replay_is_of_cuda(replay, slot);
    const struct mt_totals *peak = of_cuda ? &replay->cuda_peak[slot] : &replay->peak[slot];
    if (!peak->event)
        return 0;
    size_t blocks = 1;
    for (uint32_t i = 1; i < replay->blocks.n_records; i++)
        blocks += mt_heap_is_remembered(&replay->blocks, mt_heap_record(&replay->blocks, i));
    size_t room = EVENTS_OF(replay->events) / EVENTS_A_BLOCK / blocks;
    rc = add(&moments->after_event, peak->event);
    if (!rc)
        rc = add_steps(moments, spans, between(LEAST_STEPS, room, MOST_STEPS));
    for (size_t i = 0; !rc && i < spans->n; i++)
        rc = add(&moments->totals, spans->span[i].most_event);
    for (size_t i = 0; !rc && i < replay->tracker.ranges.device[slot].n; i++)
        rc = add(&moments->totals, replay->tracker.ranges.device[slot].most[i].event);
    return rc;
}

int mt_keep_moments_choose(struct mt_keep_moments *moments, const struct mt_replay *replay)
{
    int rc = 0;
    *moments = (struct mt_keep_moments){0};
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++)
        rc = choose_on_device(moments, replay, slot);
    sort(&moments->after_event);
    sort(&moments->totals);
    return rc;
}

void mt_keep_moments_clear(struct mt_keep_moments *moments)
{
    free(moments->after_event.number);
    free(moments->totals.number);
    *moments = (struct mt_keep_moments){0};
}
