/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer's first step, which allocates its state, and the next iteration, with the state
 * live. */
#include "analyzer/support/grow.h"
#include "inside.h"

#include <errno.h>
#include <stdlib.h>

/* What a step keeps for each trained parameter. */
struct state {
    unsigned values;   /* blocks */
    double wider;      /* relative to the parameter */
    bool is_on_device; /* also a number per parameter: fused */
};

static unsigned common(unsigned a, unsigned b)
{
    return b ? common(b, a % b) : a;
}

static bool is_state(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_OPTIMIZER_STATE && !block->is_master && block->size > 512;
}

/* Consecutive blocks of one size, from an index on. */
struct run {
    uint64_t size;
    unsigned n;
    size_t next;
};

static struct run run_from(const struct mt_recording *recording, size_t at,
                           bool (*counts)(const struct mt_recorded_block *block))
{
    struct run run = {.next = at};
    for (; run.next < recording->n; run.next++) {
        const struct mt_recorded_block *block = &recording->block[run.next];
        if (!counts(block))
            continue;
        if (run.n && block->size != run.size)
            break;
        run.size = block->size;
        run.n++;
    }
    return run;
}

/* Return how many blocks the optimizer keeps for each parameter: consecutive blocks belong to
 * consecutive parameters. The last group may be incomplete if the failed request has its size; a
 * single group counts as Adam's two. 0: no known rule. */
static unsigned count_values(struct mt_resting *resting, double wider)
{
    const struct mt_recording *recording = resting->recording;
    const struct mt_recorded_block *failed = mt_recorded_at(recording, resting->rest->cut);
    struct run of = {0}, run = run_from(recording, 0, is_state);
    unsigned all = 0;
    for (bool is_in_order = true; run.n; run = run_from(recording, run.next, is_state)) {
        bool is_last = run.next == recording->n;
        of = run_from(recording, of.next, mt_is_trained);
        is_in_order = is_in_order && of.n && mt_scaled(of.size, wider) == run.size;
        if (is_last && (all || !failed || failed->size == run.size))
            break;
        all = common(all, is_in_order && run.n % of.n == 0 ? run.n / of.n : run.n);
    }
    resting->rest->supposes_adam = !all;
    return all ? all : 2;
}

/* Find the state of the parameters that have been stepped. Return false if there are none, or no
 * known rule. */
static bool find_state(struct mt_resting *resting, struct state *state)
{
    const struct mt_recording *recording = resting->recording;
    static const double widths[] = {1, 2, 0.5, 4, 0.25};
    const uint64_t first = run_from(recording, 0, is_state).size;
    size_t small = 0;
    for (size_t i = 0; i < recording->n; i++)
        small += recording->block[i].category == MT_CATEGORY_OPTIMIZER_STATE &&
                 !recording->block[i].is_master && recording->block[i].size <= 512;
    state->is_on_device = small > 1;
    for (size_t w = 0; first && w < sizeof widths / sizeof *widths; w++)
        for (size_t i = 0; i < recording->n; i++)
            if (mt_is_trained(&recording->block[i]) &&
                mt_scaled(recording->block[i].size, widths[w]) == first) {
                state->wider = widths[w];
                state->values = count_values(resting, widths[w]);
                return true;
            }
    return false;
}

/* Mark the failed request as state if state of its size is still missing. */
static int mark_failed(struct mt_resting *resting, const struct state *state)
{
    struct mt_recording *recording = resting->recording;
    struct mt_recorded_block *failed = mt_recorded_at(recording, resting->rest->cut);
    struct mt_rest_sizes there;
    if (!failed || failed->phase != MT_PHASE_STEP)
        return 0;
    int rc = mt_rest_sizes_of(&there, resting, MT_CATEGORY_OPTIMIZER_STATE);
    for (size_t i = 0; !rc && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!mt_is_trained(block) || block->end != MT_EVER ||
            mt_scaled(block->size, state->wider) != failed->size)
            continue;
        for (unsigned j = 0; j < state->values; j++)
            if (!mt_rest_sizes_take(&there, failed->size)) {
                failed->category = MT_CATEGORY_OPTIMIZER_STATE;
                resting->rest->state = failed->size;
                goto out;
            }
    }
out:
    free(there.size);
    return rc;
}

/* Add `each` blocks of a category for each parameter that lacks them, and store their bytes in
 * *added. */
static int add_missing(struct mt_resting *resting, const struct state *state,
                       enum mt_category category, unsigned each, uint64_t *added)
{
    struct mt_recording *recording = resting->recording;
    struct mt_rest_sizes there;
    int rc = mt_rest_sizes_of(&there, resting, category);
    for (size_t i = 0, n = recording->n; !rc && i < n; i++) {
        if (!mt_is_trained(&recording->block[i]) || recording->block[i].end != MT_EVER)
            continue;
        uint64_t size = mt_scaled(recording->block[i].size, state->wider);
        for (unsigned j = 0; !rc && j < each; j++) {
            if (mt_rest_sizes_take(&there, size))
                continue;
            *added += size;
            rc = mt_rest_make_of(resting, size, category, MT_PHASE_STEP) == SIZE_MAX ? -ENOMEM : 0;
        }
    }
    free(there.size);
    return rc;
}

/* Add temporaries: Adam's moments go through a copy of all parameters, unless its kernel is fused.
 */
static int add_passing(struct mt_resting *resting, const struct state *state)
{
    struct mt_recording *recording = resting->recording;
    size_t first = recording->n;
    if (state->values != 2 || state->is_on_device)
        return 0;
    /* the step may have allocated some already */
    int rc = add_missing(resting, state, MT_CATEGORY_TEMPORARIES, 1, &resting->rest->passing);
    for (size_t i = first; !rc && i < recording->n; i++)
        mt_rest_end(resting, i);
    return rc;
}

static bool has_state(const struct mt_recording *recording)
{
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_OPTIMIZER_STATE)
            return true;
    return false;
}

/* Return 0, -ENOMEM, or -ENOENT if the optimizer's state follows no known rule. */
int mt_rest_step(struct mt_resting *resting, bool is_begun)
{
    struct mt_recording *recording = resting->recording;
    struct mt_rest *rest = resting->rest;
    struct state state = {.values = 2, .wider = 1};
    bool was_stepped = recording->n_steps > (is_begun ? 1u : 0u);
    uint64_t begin = ++resting->now;
    rest->supposes_adam = !has_state(recording) && !was_stepped;
    if (has_state(recording) && !find_state(resting, &state) && !was_stepped)
        return -ENOENT;
    rest->is_in_step = is_begun && !was_stepped;
    if (!is_begun && MT_GROW(recording->step, recording->steps_capacity, recording->n_steps))
        return -ENOMEM;
    if (!is_begun)
        recording->step[recording->n_steps++] = (struct mt_recorded_step){.begin = begin};
    int rc = was_stepped ? 0 : mark_failed(resting, &state);
    if (!rc && !was_stepped)
        rc = add_missing(resting, &state, MT_CATEGORY_OPTIMIZER_STATE, state.values, &rest->state);
    if (!rc && (!was_stepped || has_state(recording)))
        rc = add_passing(resting, &state);
    recording->step[recording->n_steps - 1].end = ++resting->now;
    return rc;
}

uint64_t mt_rest_forward_of(const struct mt_recording *recording, uint64_t to)
{
    uint64_t after = 0;
    for (size_t i = 0; i < recording->n_steps; i++)
        if (recording->step[i].end && recording->step[i].end < to)
            after = recording->step[i].end;
    const struct mt_turn *turn = mt_turn_after(recording, after);
    const struct mt_turn *end = mt_turns_end(recording);
    while (turn && turn < end && turn->phase != MT_PHASE_FORWARD)
        turn++;
    return turn && turn < end ? turn->event : 0;
}

/* End the gradients, which are set to None between iterations, as zero_grad does by default. */
static void end_gradients(struct mt_resting *resting)
{
    struct mt_recording *recording = resting->recording;
    uint64_t now = ++resting->now;
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_GRADIENTS &&
            recording->block[i].end == MT_EVER)
            recording->block[i].end = now;
}

static int copy_blocks(struct mt_resting *resting, uint64_t from, uint64_t to, uint64_t offset)
{
    struct mt_recording *recording = resting->recording;
    for (size_t i = mt_first_made(recording, from), n = recording->n;
         i < n && recording->block[i].begin <= to; i++) {
        struct mt_recorded_block copy = recording->block[i];
        if (copy.end == MT_EVER)
            continue; /* kept: allocated once */
        copy.begin += offset;
        copy.end += offset;
        copy.saved += copy.saved ? offset : 0;
        if (MT_APPEND(recording->block, recording->capacity, recording->n, copy))
            return -ENOMEM;
    }
    return 0;
}

int mt_rest_next(struct mt_resting *resting, uint64_t to)
{
    struct mt_recording *recording = resting->recording;
    uint64_t from = mt_rest_forward_of(recording, to);
    if (!from)
        return -ENOENT;
    end_gradients(resting);
    mt_recording_sort(recording);
    uint64_t offset = ++resting->now - from;
    int rc = copy_blocks(resting, from, to, offset);
    if (!rc)
        rc = mt_rest_copy_turns(resting, from, to, offset);
    if (!rc)
        rc = mt_rest_copy_nodes(resting, from, to, from, offset);
    /* Gradients end after the step, as the previous ones did. */
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].end != MT_EVER && recording->block[i].end > resting->now)
            resting->now = recording->block[i].end;
    return rc;
}
