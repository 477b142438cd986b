/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a run: its backward and the optimizer's step. */
#include "analyzer/support/grow.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"
#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Cut the recording off where memory ran out, and the program unwinds; had the request been served,
 * it would have lived on. */
static void cut_off(struct mt_recording *recording, uint64_t cut)
{
    for (size_t i = 0; i < recording->n; i++) {
        struct mt_recorded_block *block = &recording->block[i];
        block->end = block->end > cut ? MT_EVER : block->end;
        block->was_caught &= block->begin != cut;
    }
    while (recording->n_turns && recording->turn[recording->n_turns - 1].event > cut)
        recording->n_turns--;
    while (recording->n_nodes && recording->node[recording->n_nodes - 1].made > cut)
        recording->n_nodes--;
    for (size_t i = 0; i < recording->n_nodes; i++)
        if (recording->node[i].end > cut)
            recording->node[i].begin = recording->node[i].end = 0;
    recording->events = cut;
}

/* Suppose that parameters that forward has not come to are trained, unless those of their size are
 * not in the layer that the others are like. 0 or -ENOMEM. */
static int suppose_trained(struct mt_resting *resting)
{
    struct mt_recording *recording = resting->recording;
    struct mt_rest_sizes frozen = {.size = calloc(recording->n + 1, sizeof *frozen.size)};
    if (!frozen.size)
        return -ENOMEM;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block->category == MT_CATEGORY_PARAMETERS && !mt_is_trained(block) &&
            mt_rest_group(resting, block->module) == resting->like)
            frozen.size[frozen.n++] = block->size;
    }
    mt_sort_sizes(frozen.size, frozen.n);
    for (size_t i = 0; i < recording->n; i++) {
        struct mt_recorded_block *block = &recording->block[i];
        if (block->category == MT_CATEGORY_PARAMETERS &&
            !(frozen.n &&
              bsearch(&block->size, frozen.size, frozen.n, sizeof *frozen.size, mt_by_value)))
            block->evidence |= MT_SAW_LEAF;
    }
    free(frozen.size);
    return 0;
}

static bool is_saved(const struct mt_recorded_block *block)
{
    return block->end == MT_EVER && block->saved && !mt_is_of_model(block) &&
           block->category != MT_CATEGORY_INPUTS;
}

static const struct mt_module_call *call_of(const struct mt_resting *resting, uint64_t event)
{
    for (size_t i = resting->calls.n; i > resting->first; i--) {
        const struct mt_module_call *call = &resting->calls.call[i - 1];
        if (event >= call->forward && event < call->forward_end)
            return call;
    }
    return NULL;
}

/* Gradients that backward has still to make. */
struct gradients {
    size_t *parameter; /* places, in the order of backward */
    size_t n, done;
};

static int find_gradients(struct gradients *gradients, struct mt_resting *resting)
{
    struct mt_recording *recording = resting->recording;
    struct mt_rest_sizes there;
    int rc = mt_rest_sizes_of(&there, resting, MT_CATEGORY_GRADIENTS);
    *gradients =
        (struct gradients){.parameter = calloc(recording->n + 1, sizeof *gradients->parameter)};
    /* Backward comes to the parameters of the loss first, then from the last to the first. */
    for (size_t i = recording->n; i > 0 && !rc && gradients->parameter; i--) {
        const struct mt_recorded_block *block = &recording->block[i - 1];
        if (mt_is_trained(block) && block->end == MT_EVER &&
            !mt_rest_sizes_take(&there, block->size))
            gradients->parameter[gradients->n++] = i - 1;
    }
    for (size_t i = 0; i < gradients->n && resting->logits; i++)
        if (gradients->parameter[i] == resting->head) {
            memmove(gradients->parameter + 1, gradients->parameter,
                    i * sizeof *gradients->parameter);
            gradients->parameter[0] = resting->head;
        }
    free(there.size);
    return rc ? rc : gradients->parameter ? 0 : -ENOMEM;
}

static int make_gradients(struct mt_resting *resting, struct gradients *gradients, size_t to)
{
    for (; gradients->done < to && gradients->done < gradients->n; gradients->done++) {
        struct mt_recorded_block like =
            resting->recording->block[gradients->parameter[gradients->done]];
        like.category = MT_CATEGORY_GRADIENTS;
        like.phase = MT_PHASE_BACKWARD;
        like.evidence = 0;
        like.saved = like.output_of = 0;
        like.stack = 0;
        if (mt_rest_make(resting, like) == SIZE_MAX)
            return -ENOMEM;
    }
    return 0;
}

/* Add the gradient of a loss: as large as what it is of, twice for a moment. */
static int begin_backward(struct mt_resting *resting, struct gradients *gradients, size_t *passing)
{
    if (!resting->logits)
        return 0;
    size_t of_loss =
        mt_rest_make_of(resting, resting->logits, MT_CATEGORY_TEMPORARIES, MT_PHASE_BACKWARD);
    *passing = of_loss == SIZE_MAX ? SIZE_MAX
                                   : mt_rest_make_of(resting, resting->logits,
                                                     MT_CATEGORY_TEMPORARIES, MT_PHASE_BACKWARD);
    if (*passing == SIZE_MAX)
        return -ENOMEM;
    mt_rest_end(resting, of_loss);
    size_t sums = resting->sums ? mt_rest_make_of(resting, resting->sums, MT_CATEGORY_WORKSPACE,
                                                  MT_PHASE_BACKWARD)
                                : 0;
    if (sums == SIZE_MAX)
        return -ENOMEM;
    if (resting->sums)
        mt_rest_end(resting, sums);
    return make_gradients(resting, gradients, 1);
}

/* Run a checkpointed layer's forward again. */
static int make_again(struct mt_resting *resting)
{
    size_t again = resting->again ? mt_rest_make_of(resting, resting->again,
                                                    MT_CATEGORY_ACTIVATIONS, MT_PHASE_BACKWARD)
                                  : 0;
    if (again == SIZE_MAX)
        return -ENOMEM;
    if (resting->again)
        mt_rest_end(resting, again);
    return 0;
}

/* End the lifetimes of blocks allocated since the event and saved by nothing when their phase ends:
 * variables. */
static void end_unsaved(struct mt_resting *resting, uint64_t since)
{
    struct mt_recording *recording = resting->recording;
    uint64_t now = ++resting->now;
    for (size_t i = 0; i < recording->n; i++) {
        struct mt_recorded_block *block = &recording->block[i];
        if (block->begin >= since && block->end == MT_EVER && !block->saved &&
            !mt_is_of_model(block) && block->category != MT_CATEGORY_INPUTS)
            block->end = now;
    }
}

static uint32_t module_of(const struct mt_resting *resting, const struct mt_module_call *call)
{
    const struct mt_turn *turn = call ? mt_turn_after(resting->recording, call->forward - 1) : NULL;
    for (const struct mt_turn *end = mt_turns_end(resting->recording);
         turn && turn < end && turn->event < call->forward_end; turn++)
        if (turn->module && mt_rest_group(resting, turn->module) == call->group)
            return turn->module;
    return 0;
}

/* Return the first gradient: what ran out of memory in backward may be the gradient of the newest
 * block that is saved. */
static size_t first_gradient(struct mt_resting *resting, uint64_t size)
{
    const struct mt_recorded_block *failed = mt_recorded_at(resting->recording, resting->rest->cut);
    if (failed && failed->phase == MT_PHASE_BACKWARD && failed->size == size)
        return (size_t)(failed - resting->recording->block);
    return mt_rest_make_of(resting, size, MT_CATEGORY_TEMPORARIES, MT_PHASE_BACKWARD);
}

/* Go back from the newest block that is saved to the oldest: the gradient of each, then it is free.
 */
static int go_back(struct mt_resting *resting, struct gradients *gradients, size_t passing)
{
    struct mt_recording *recording = resting->recording;
    size_t n = recording->n, saved = 0, done = 0;
    const struct mt_module_call *now = NULL;
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        saved += is_saved(&recording->block[i]);
    for (size_t i = n; !rc && i > 0; i--) {
        if (!is_saved(&recording->block[i - 1]))
            continue;
        const struct mt_module_call *call = call_of(resting, recording->block[i - 1].begin);
        if (call != now || !done)
            rc = mt_rest_turn(resting, 0, MT_PHASE_BACKWARD);
        if (!rc && call && (call != now || !done))
            rc = mt_rest_turn(resting, module_of(resting, call), MT_PHASE_BACKWARD);
        if (!rc && call && call != now)
            rc = make_again(resting);
        now = call;
        size_t next = rc      ? SIZE_MAX
                      : !done ? first_gradient(resting, recording->block[i - 1].size)
                              : mt_rest_make_of(resting, recording->block[i - 1].size,
                                                MT_CATEGORY_TEMPORARIES, MT_PHASE_BACKWARD);
        if (next == SIZE_MAX)
            return -ENOMEM;
        if (passing != SIZE_MAX)
            mt_rest_end(resting, passing);
        passing = next;
        if (!done && !resting->logits)
            end_unsaved(resting, mt_rest_forward_of(recording, recording->events));
        rc = make_gradients(resting, gradients, gradients->n * ++done / saved);
        mt_rest_end(resting, i - 1);
    }
    if (!rc && passing != SIZE_MAX)
        mt_rest_end(resting, passing);
    return rc ? rc : make_gradients(resting, gradients, gradients->n);
}

static int add_backward(struct mt_resting *resting, bool is_begun)
{
    struct gradients gradients;
    size_t passing = SIZE_MAX;
    int rc = find_gradients(&gradients, resting);
    if (!rc && !is_begun)
        rc = begin_backward(resting, &gradients, &passing);
    if (!rc)
        rc = go_back(resting, &gradients, passing);
    free(gradients.parameter);
    return rc;
}

static void reach(struct mt_resting *resting, enum mt_reach known)
{
    resting->rest->known = known;
    resting->rest->ends[known] = ++resting->now;
}

/* Find whether the newest call is of a line that has not trained, while others have. 0 or -ENOMEM.
 */
static int find_evaluation(struct mt_resting *resting)
{
    struct mt_call_lines lines;
    int rc = mt_call_lines_find(&lines, &resting->calls, resting->recording);
    resting->rest->evaluates =
        (!rc && mt_newest_call_evaluates(&lines, resting->recording, &resting->calls)) ||
        mt_only_infers(resting->recording);
    mt_call_lines_clear(&lines);
    return rc;
}

/* Return whether a whole backward came and no step: the program has no optimizer, or accumulates
 * gradients first. */
static bool goes_without_step(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n_turns && recording->turn[i].phase != MT_PHASE_BACKWARD)
        i++;
    while (i < recording->n_turns && recording->turn[i].phase != MT_PHASE_FORWARD)
        i++;
    return !recording->n_steps && i < recording->n_turns;
}

/* Return whether memory ran out as backward ran a checkpointed forward again, and most of what such
 * forwards made is still there: how much this one still makes is not known. */
static bool is_first_again(const struct mt_resting *resting)
{
    const struct mt_recording *recording = resting->recording;
    const struct mt_recorded_block *failed = mt_recorded_at(recording, resting->rest->cut);
    uint64_t made = 0, ended = 0;
    if (!failed || !mt_is_checkpointed(recording, failed->stack))
        return false;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (block == failed || block->phase != MT_PHASE_BACKWARD || mt_is_of_model(block) ||
            !mt_is_checkpointed(recording, block->stack))
            continue;
        made += block->size;
        ended += block->end < resting->rest->cut ? block->size : 0;
    }
    return ended <= made / 2;
}

static int add_phases(struct mt_resting *resting, enum mt_phase phase)
{
    int rc = 0;
    if (phase == MT_PHASE_BACKWARD && is_first_again(resting))
        return -ENOENT;
    bool has_no_step = goes_without_step(resting->recording);
    if (phase == MT_PHASE_FORWARD) {
        rc = mt_rest_forward(resting);
        if (rc)
            return rc;
        end_unsaved(resting, mt_rest_forward_of(resting->recording, resting->rest->cut));
        reach(resting, MT_REACH_FORWARD);
        if (resting->rest->evaluates)
            return 0; /* no backward follows, as far as is known */
    }
    if (phase == MT_PHASE_FORWARD && suppose_trained(resting))
        return -ENOMEM;
    if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD) {
        rc = add_backward(resting, phase == MT_PHASE_BACKWARD);
        if (rc)
            return rc;
        reach(resting, MT_REACH_BACKWARD);
    }
    if (phase == MT_PHASE_OUTSIDE || has_no_step)
        return -ENOENT;
    uint64_t back = resting->now;
    rc = mt_rest_step(resting, phase == MT_PHASE_STEP);
    if (rc)
        return rc;
    reach(resting, MT_REACH_STEP);
    bool makes_state = resting->rest->state || resting->rest->is_in_step;
    rc = makes_state ? mt_rest_next(resting, back) : -ENOENT;
    if (!rc)
        reach(resting, MT_REACH_NEXT);
    return rc;
}

int mt_rest_add(struct mt_rest *rest, struct mt_recording *recording, uint64_t cut,
                enum mt_phase phase)
{
    struct mt_resting resting = {.rest = rest, .recording = recording, .now = cut};
    *rest = (struct mt_rest){.known = MT_REACH_REQUEST, .cut = cut};
    cut_off(recording, cut);
    rest->ends[MT_REACH_REQUEST] = ++resting.now;
    int rc = mt_shard_groups_find(&resting.groups, recording);
    if (!rc)
        rc = mt_module_calls_find(&resting.calls, recording, &resting.groups.of_frame);
    if (!rc && phase == MT_PHASE_FORWARD)
        rc = find_evaluation(&resting);
    if (!rc)
        rc = add_phases(&resting, phase);
    rest->is_first = rest->known == MT_REACH_REQUEST && !recording->n_steps && recording->n_nodes &&
                     !rest->evaluates && (phase == MT_PHASE_FORWARD || phase == MT_PHASE_BACKWARD);
    rest->last = ++resting.now;
    recording->events = rest->last;
    mt_recording_sort(recording);
    mt_shard_groups_clear(&resting.groups);
    free(resting.calls.call);
    return rc == -ENOENT ? 0 : rc;
}

void mt_rest_text(char *out, size_t size, const struct mt_rest *rest)
{
    *out = '\0';
    if (rest->known <= MT_REACH_REQUEST)
        return;
    if (rest->layers)
        snprintf(out, size, "%zu equal layers, %zu of them seen", rest->layers, rest->seen);
    else
        snprintf(out, size, "%s",
                 rest->is_in_step ? "the parameters that were stepped"
                                  : "what is saved for backward");
}
