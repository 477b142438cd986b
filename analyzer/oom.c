/* SPDX-License-Identifier: Apache-2.0 */
#include "oom.h"
#include "grow.h"

static uint64_t bytes_of(const struct mt_oom_story *story, enum mt_category category)
{
    return story->device->category[category].bytes;
}

/* Pieces of the right pool that were large enough and not taken all the same. */
static void find_fitting(struct mt_oom_story *story)
{
    const struct mt_segments *segments = &story->device->segments;
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
    if (story->would_fit_expandable && !story->device->segments.expandable)
        advise(story, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True makes free pieces one",
               story->usable);
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
    if (!story->span || story->span->iteration < 2)
        return; /* before the first is the start-up */
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
    story->segment = oom->of_cuda
                         ? oom->wanted
                         : mt_segment_size_for(oom->wanted, story->device->segments.expandable > 0);
    story->cached = oom->reserved > oom->allocated ? oom->reserved - oom->allocated : 0;
    uint64_t kept = story->device->private_pools.free;
    story->usable = story->cached > kept ? story->cached - kept : 0;
    story->would_fit_expandable = story->usable >= oom->wanted;
    story->missed_by = story->would_fit_expandable ? 0 : oom->wanted - story->usable;
    story->span = story->device->span;
    story->knows_pieces = story->device->segments.n > 0 && !story->device->segments.unplaced;
    find_fitting(story);
    compare_iterations(story);
    find_advice(story);
    return mt_pins_find(&story->pins, &story->device->segments, 1u << story->pool,
                        story->device->verdicts, replay->definitions);
}
