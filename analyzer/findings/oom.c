/* SPDX-License-Identifier: Apache-2.0 */
#include "oom.h"
#include "analyzer/model/user-line.h"

const char *const mt_reach_names[MT_N_REACHES] = {"nothing",  "request", "forward",
                                                  "backward", "step",    "next"};
const char *const mt_reach_words[MT_N_REACHES] = {
    [MT_REACH_NOTHING] = "not served",   [MT_REACH_REQUEST] = "this request",
    [MT_REACH_FORWARD] = "this forward", [MT_REACH_BACKWARD] = "this backward",
    [MT_REACH_STEP] = "this iteration",  [MT_REACH_NEXT] = "2 such iterations",
};

uint32_t mt_oom_line(const struct mt_definitions *definitions, const struct mt_oom *oom)
{
    bool is_bare = oom->of_library && !mt_stack(definitions, oom->stack)->python; /* in backward */
    return mt_request_line(definitions, is_bare && oom->forward_stack ? 0 : oom->stack,
                           oom->forward_stack);
}

uint32_t mt_oom_forward_line(const struct mt_definitions *definitions, const struct mt_oom *oom)
{
    return mt_stack_line(definitions, oom->forward_stack);
}

const char *mt_modules_words(const char *pattern)
{
    return strcmp(pattern, "*") ? pattern : "the outermost modules"; /* 0, 1 ... of a Sequential */
}

static uint64_t bytes_of(const struct mt_oom_story *story, enum mt_category category)
{
    return story->device->category[category].bytes;
}

/* Sum up pieces of the right pool that were large enough and yet not used. */
static void find_fitting(struct mt_oom_story *story)
{
    const struct mt_segments *segments = &story->device->segments;
    for (size_t i = 0; i < segments->n; i++)
        if (segments->segment[i].pool == story->pool &&
            (!story->oom->pool || segments->segment[i].stream_pool == story->oom->pool) &&
            segments->segment[i].largest_free >= story->oom->wanted)
            story->fitting += segments->segment[i].largest_free;
}

/* Add an advice, if anything is live that it is about. */
static void advise_always(struct mt_oom_story *story, const char *change, const char *what,
                          uint64_t bytes)
{
    if (!bytes || story->n_advice == MT_ADVICE_KEPT)
        return;
    struct mt_advice *advice = &story->advice[story->n_advice++];
    *advice = (struct mt_advice){.bytes = bytes};
    snprintf(advice->what, sizeof advice->what, "%s", what);
    snprintf(advice->change, sizeof advice->change, "%s", change);
}

/* Add an advice that is about more than a thousandth of what is live. */
static void advise(struct mt_oom_story *story, const char *change, const char *what, uint64_t bytes)
{
    if (bytes > story->oom->allocated / 1000)
        advise_always(story, change, what, bytes);
}

/* Return what earlier iterations left behind, however little of it each. */
static uint64_t left_behind(const struct mt_growth *growth)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < growth->n; i++)
        bytes += growth->site[i].bytes;
    return bytes > growth->per_iteration ? bytes : growth->per_iteration;
}

static void find_left(struct mt_oom_story *story)
{
    uint64_t of_forwards = left_behind(&story->device->of_forwards);
    story->left = left_behind(&story->device->growth);
    story->of_forwards = of_forwards > story->left;
    story->left = story->of_forwards ? of_forwards : story->left;
    story->kept = story->of_forwards ? &story->device->of_forwards : &story->device->growth;
}

/* Return the optimizer state with 4 bytes an element, without master weights: these stay. */
static uint64_t wide_state(const struct mt_oom_story *story)
{
    const struct mt_precision *precision = &story->device->precision;
    uint64_t bytes = 0;
    for (size_t i = 0; i < precision->n; i++)
        if (precision->row[i].role == MT_ROLE_STATE && precision->row[i].width == 4)
            bytes += precision->row[i].bytes;
    return bytes;
}

/* Find advice that the numbers support, and no other. */
static void find_advice(struct mt_oom_story *story)
{
    uint64_t passing =
        bytes_of(story, MT_CATEGORY_ACTIVATIONS) + bytes_of(story, MT_CATEGORY_INPUTS);
    enum mt_phase phase = story->span ? (enum mt_phase)story->span->phase : MT_PHASE_OUTSIDE;
    if (story->is_in_pieces && !story->device->segments.expandable) {
        advise(story, "set", "expandable_segments:True", story->usable + story->on_card);
        snprintf(story->advice[0].set, sizeof story->advice[0].set, "%s",
                 "expandable_segments:True");
    }
    /* From the cheapest, as planner/answer/remedies.c orders them. */
    if (phase == MT_PHASE_FORWARD)
        advise(story, "zero-grad", "free gradients after the step: zero_grad(set_to_none=True)",
               bytes_of(story, MT_CATEGORY_GRADIENTS));
    advise_always(story, "keep-nothing",
                  story->of_forwards ? "keep nothing from one forward to the next"
                                     : "keep nothing from one iteration to the next",
                  story->left);
    advise(story, "batch:1/2", "halve the batch", passing / 2);
    if (bytes_of(story, MT_CATEGORY_ACTIVATIONS) > passing / 2)
        advise(story, "checkpoint", "checkpoint activations",
               bytes_of(story, MT_CATEGORY_ACTIVATIONS));
    advise(story, "optimizer:adam8bit", "keep the optimizer state in 8 bits",
           wide_state(story) / 4 * 3);
}

/* Return the limit if the request was beyond it. */
static uint64_t find_limit(const struct mt_oom_story *story)
{
    const struct mt_oom *oom = story->oom;
    return oom->limit && oom->reserved + story->segment > oom->limit ? oom->limit : 0;
}

/* Return what PyTorch might have taken: CUDA's free memory, or what its limit leaves. A device with
 * enough free memory refused for another reason. */
static uint64_t free_on_card(const struct mt_oom_story *story)
{
    const struct mt_balance *balance = &story->device->balance;
    uint64_t free = balance->known && balance->total > balance->used && !story->oom->of_cuda
                        ? balance->total - balance->used
                        : 0;
    if (story->limit)
        free = story->limit > story->oom->reserved ? story->limit - story->oom->reserved : 0;
    return free < story->segment ? free : 0;
}

/* Return what is free for blocks of the request's size on its stream and pool; others: elsewhere.
 */
static uint64_t free_for(const struct mt_oom_story *story, bool others)
{
    const struct mt_segments *segments = &story->device->segments;
    uint64_t bytes = 0;
    for (size_t i = 0; i < segments->n + segments->n_empty; i++) {
        const struct mt_segment *segment =
            i < segments->n ? &segments->segment[i] : &segments->empty[i - segments->n];
        bool is_others = segment->stream_pool != story->oom->pool;
        if (segment->pool == story->pool && is_others == others)
            bytes += segment->size - segment->used;
    }
    return bytes;
}

static uint64_t find_usable(const struct mt_oom_story *story)
{
    if (story->oom->of_library)
        return 0; /* it asks the card only */
    if (story->knows_pieces && story->oom->pool)
        return free_for(story, false);
    const struct mt_pool_state *other = &story->device->segments.pool[!story->pool];
    uint64_t kept = story->device->private_pools.free + (story->knows_pieces ? other->free : 0);
    return story->cached > kept ? story->cached - kept : 0;
}

/* Return what PyTorch reserves in segments without a block: empty_cache() gives it back. */
static uint64_t find_empty(const struct mt_oom_story *story)
{
    const struct mt_segments *segments = &story->device->segments;
    uint64_t bytes = story->knows_pieces ? story->oom->reserved : 0;
    for (size_t i = 0; i < segments->n; i++)
        bytes -= segments->segment[i].size < bytes ? segments->segment[i].size : bytes;
    return bytes;
}

/* Judge by the free pieces. If one was large enough, there is another cause. */
static void find_verdict(struct mt_oom_story *story)
{
    uint64_t free = story->usable + story->on_card;
    story->missed_by = free < story->oom->wanted ? story->oom->wanted - free : 0;
    story->is_in_pieces = !story->missed_by && story->knows_pieces && !story->fitting;
    story->is_of_others = story->missed_by && story->missed_by <= story->of_others;
}

static void compare_iterations(struct mt_oom_story *story)
{
    const struct mt_spans *spans = story->device->spans;
    if (!story->span || story->span->iteration < 2)
        return; /* the start-up is before the first */
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        uint64_t *most = span->iteration == story->span->iteration       ? &story->this_most
                         : span->iteration + 1 == story->span->iteration ? &story->last_most
                                                                         : NULL;
        if (most && span->most > *most && span->time_ns <= story->oom->time_ns)
            *most = span->most;
    }
}

int mt_oom_explain(struct mt_oom_story *story, const struct mt_analysis *analysis)
{
    const struct mt_replay *replay = &analysis->replay;
    memset(story, 0, sizeof *story);
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    if (!oom)
        return -ENOENT;
    static const struct mt_device nothing = {.device = MT_NO_DEVICE};
    story->oom = oom;
    story->variable = "PYTORCH_CUDA_ALLOC_CONF"; /* every release reads it */
    story->device = mt_analysis_device(analysis, oom->device);
    if (!story->device)
        story->device = &nothing; /* it was never used */
    story->pool = mt_pool_of(oom->wanted);
    story->segment = oom->of_cuda || oom->of_library
                         ? oom->wanted
                         : mt_segment_size_for(oom->wanted, story->device->segments.expandable > 0);
    story->cached = oom->reserved > oom->allocated ? oom->reserved - oom->allocated : 0;
    story->span = story->device->span;
    story->knows_pieces = story->device->segments.n > 0 && !story->device->segments.unplaced;
    story->usable = find_usable(story);
    if (story->knows_pieces && oom->pool)
        story->of_others = free_for(story, true);
    story->empty = oom->of_library ? find_empty(story) : 0;
    story->limit = oom->of_library ? 0 : find_limit(story);
    story->on_card = free_on_card(story);
    find_fitting(story);
    find_verdict(story);
    compare_iterations(story);
    find_left(story);
    if (!oom->of_library)
        find_advice(story);
    return mt_pins_find(&story->pins, &story->device->segments, 1u << story->pool,
                        story->device->verdicts, replay->definitions);
}
