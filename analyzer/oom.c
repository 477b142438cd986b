/* SPDX-License-Identifier: Apache-2.0 */
#include "oom.h"
#include "grow.h"

/* A segment is pinned where no more than this part of it is used. */
#define PINNED_PART 2u

static uint64_t bytes_of(const struct mt_oom_story *story, enum mt_category category)
{
    return story->device->category[category].bytes;
}

/* The block that stands for what keeps a segment: the largest. */
static const struct mt_verdict *keeper(const struct mt_segment *segment,
                                       const struct mt_verdict *verdicts)
{
    const struct mt_verdict *best = &verdicts[segment->first];
    for (size_t i = 1; i < segment->n_blocks; i++)
        if (verdicts[segment->first + i].block->size > best->block->size)
            best = &verdicts[segment->first + i];
    return best;
}

static int by_stack(const void *left, const void *right)
{
    const struct mt_pin *a = left, *b = right;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return (a->category > b->category) - (a->category < b->category);
}

static int by_free(const void *left, const void *right)
{
    const struct mt_pin *a = left, *b = right;
    if (a->free != b->free)
        return a->free < b->free ? 1 : -1;
    return by_stack(left, right);
}

static size_t merge(struct mt_pin *pins, size_t n)
{
    size_t kept = 0;
    qsort(pins, n, sizeof *pins, by_stack);
    for (size_t i = 0; i < n; i++) {
        if (!kept || by_stack(&pins[kept - 1], &pins[i])) {
            pins[kept++] = pins[i];
            continue;
        }
        pins[kept - 1].segments += pins[i].segments;
        pins[kept - 1].blocks += pins[i].blocks;
        pins[kept - 1].bytes += pins[i].bytes;
        pins[kept - 1].free += pins[i].free;
    }
    qsort(pins, kept, sizeof *pins, by_free);
    return kept;
}

static int find_pins(struct mt_oom_story *story, const struct mt_definitions *definitions)
{
    const struct mt_segments *segments = &story->segments;
    struct mt_pin *pins = calloc(segments->n + 1, sizeof *pins);
    size_t n = 0;
    if (!pins)
        return -ENOMEM;
    for (size_t i = 0; i < segments->n; i++) {
        const struct mt_segment *segment = &segments->segment[i];
        if (segment->pool != story->pool || segment->used > segment->size / PINNED_PART)
            continue;
        const struct mt_verdict *verdict = keeper(segment, story->device->verdicts);
        uint32_t user = mt_stack(definitions, verdict->block->stack)->user;
        pins[n++] = (struct mt_pin){.stack = user ? user : verdict->block->stack,
                                    .category = verdict->rule->category,
                                    .segments = 1,
                                    .blocks = segment->n_blocks,
                                    .bytes = segment->used,
                                    .free = segment->size - segment->used};
    }
    n = n ? merge(pins, n) : 0;
    story->n_pins = n < MT_PINS_KEPT ? n : MT_PINS_KEPT;
    memcpy(story->pins, pins, story->n_pins * sizeof *pins);
    free(pins);
    return 0;
}

/* Pieces of the right pool that were large enough and not taken all the same. */
static void find_fitting(struct mt_oom_story *story)
{
    const struct mt_segments *segments = &story->segments;
    for (size_t i = 0; i < segments->n; i++)
        if (segments->segment[i].pool == story->pool &&
            segments->segment[i].largest_free >= story->oom->wanted)
            story->fitting += segments->segment[i].largest_free;
}

static void advise(struct mt_oom_story *story, const char *what, uint64_t bytes)
{
    if (bytes && story->n_advice < MT_ADVICE_KEPT)
        story->advice[story->n_advice++] = (struct mt_advice){what, bytes};
}

/* Only what the numbers show. */
static void find_advice(struct mt_oom_story *story)
{
    uint64_t passing =
        bytes_of(story, MT_CATEGORY_ACTIVATIONS) + bytes_of(story, MT_CATEGORY_INPUTS);
    enum mt_phase phase = story->span ? (enum mt_phase)story->span->phase : MT_PHASE_OUTSIDE;
    if (story->would_fit_expandable)
        advise(story, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True makes free pieces one",
               story->cached);
    if (story->device->growth.per_iteration)
        advise(story, "keep nothing from one iteration to the next (an iteration's part)",
               story->device->growth.per_iteration);
    if (phase == MT_PHASE_FORWARD)
        advise(story, "free gradients before forward: zero_grad(set_to_none=True) after the step",
               bytes_of(story, MT_CATEGORY_GRADIENTS));
    advise(story, "half the batch: half of activations and inputs", passing / 2);
    if (bytes_of(story, MT_CATEGORY_ACTIVATIONS) > passing / 2)
        advise(story, "checkpointing: at most the activations",
               bytes_of(story, MT_CATEGORY_ACTIVATIONS));
    advise(story, "8-bit optimizer state instead of fp32: three quarters of it",
           bytes_of(story, MT_CATEGORY_OPTIMIZER_STATE) / 4 * 3);
}

static void compare_iterations(struct mt_oom_story *story)
{
    const struct mt_spans *spans = story->device->spans;
    if (!story->span || !story->span->iteration)
        return;
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        uint64_t *most = span->iteration == story->span->iteration       ? &story->this_most
                         : span->iteration + 1 == story->span->iteration ? &story->last_most
                                                                         : NULL;
        if (most && span->most > *most && span->time_ns <= story->oom->time_ns)
            *most = span->most;
    }
}

static const struct mt_device *device_of(const struct mt_analysis *analysis, int device)
{
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (analysis->devices[i].device == device)
            return &analysis->devices[i];
    return NULL;
}

int mt_oom_explain(struct mt_oom_story *story, const struct mt_analysis *analysis)
{
    const struct mt_replay *replay = &analysis->replay;
    memset(story, 0, sizeof *story);
    if (!replay->n_ooms)
        return -ENOENT;
    const struct mt_oom *oom = &replay->ooms[(replay->n_ooms - 1) % MT_OOMS_KEPT];
    static const struct mt_device nothing = {.device = MT_NO_DEVICE};
    story->oom = oom;
    story->device = device_of(analysis, oom->device);
    if (!story->device)
        story->device = &nothing; /* nothing was ever allocated on it */
    story->pool = mt_pool_of(oom->wanted);
    story->segment = mt_segment_size_for(oom->wanted);
    story->cached = oom->reserved > oom->allocated ? oom->reserved - oom->allocated : 0;
    story->would_fit_expandable = story->cached >= oom->wanted;
    story->missed_by = story->would_fit_expandable ? 0 : oom->wanted - story->cached;
    story->span = story->device->span;
    if (mt_segments_find(&story->segments, &replay->cuda.heap, mt_device_slot(oom->device),
                         story->device->verdicts, story->device->n_verdicts))
        return -ENOMEM;
    story->knows_pieces = story->segments.n > 0 && !story->segments.unplaced;
    find_fitting(story);
    compare_iterations(story);
    find_advice(story);
    return find_pins(story, replay->definitions);
}

void mt_oom_clear(struct mt_oom_story *story)
{
    mt_segments_clear(&story->segments);
}
