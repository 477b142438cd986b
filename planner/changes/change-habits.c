/* SPDX-License-Identifier: Apache-2.0 */
/* What a program keeps longer than it needs: gradients after the step, blocks of past iterations,
 * and those of an attempt that ran out of memory. */
#include "analyzer/support/search.h"
#include "kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return when backward begins after the event; MT_EVER: it does not. */
static uint64_t backward_after(const struct mt_recording *recording, uint64_t event)
{
    const struct mt_turn *turn = mt_turn_after(recording, event);
    const struct mt_turn *end = mt_turns_end(recording);
    while (turn && turn < end && turn->phase != MT_PHASE_BACKWARD)
        turn++;
    return turn && turn < end ? turn->event : MT_EVER;
}

/* Free the block from the end of each step to the backward of the next iteration. */
static void free_after_steps(struct mt_edits *edits, size_t i)
{
    const struct mt_recording *recording = edits->recording;
    const struct mt_recorded_block *block = &recording->block[i];
    const struct mt_recorded_step *step = mt_step_after(recording, block->begin);
    if (!step || step->end >= block->end)
        return;
    edits->block[i].end = mt_moment_of(step->end);
    for (;;) {
        uint64_t again = backward_after(recording, step->end);
        if (again >= block->end)
            return;
        step = mt_step_after(recording, again);
        uint64_t end = step && step->end < block->end ? step->end : block->end;
        mt_edits_add(edits, mt_moment_of(again), mt_moment_of(end), edits->block[i].size);
        if (end == block->end)
            return;
    }
}

int mt_change_zero_grad(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    (void)argument;
    if (!edits->recording->n_steps)
        change->why_not = "no step of an optimizer was recorded";
    for (size_t i = 0; i < edits->recording->n; i++)
        if (edits->recording->block[i].category == MT_CATEGORY_GRADIENTS)
            free_after_steps(edits, i);
    return change->why_not ? -ENOENT : edits->rc;
}

/* Return the turn that ends the forward that is running, or runs next. */
static size_t after_forward(const struct mt_recording *recording, size_t i)
{
    while (i < recording->n_turns && recording->turn[i].phase != MT_PHASE_FORWARD)
        i++;
    while (i < recording->n_turns && recording->turn[i].phase == MT_PHASE_FORWARD)
        i++;
    return i;
}

/* Free with each forward of the evaluation in which the recording ends what the one before it made,
 * or what was made between them. What the first one makes is left alone. */
static void keep_nothing_of_forwards(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    size_t n = recording->n_turns, own = after_forward(recording, mt_last_forwards(recording)),
           next = after_forward(recording, own);
    size_t i = own < n ? mt_first_made(recording, recording->turn[own].event) : recording->n;
    for (; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        while (own < n && recording->turn[own].event <= block->begin) {
            own = next;
            next = after_forward(recording, next);
        }
        if (next < n && recording->turn[next].event < block->end && !mt_is_of_model(block) &&
            !mt_is_of_cache(block))
            edits->block[i].end = mt_moment_of(recording->turn[next].event);
    }
}

/* Free everything with the iteration. A block may outlive its own iteration's step: the program
 * prints the loss, or its variable still has the data. It ends with the next step. What the first
 * iteration makes is left alone. */
int mt_change_keep_nothing(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    (void)argument;
    bool evaluates = mt_ends_in_evaluation(recording);
    if (evaluates)
        keep_nothing_of_forwards(edits);
    if (recording->n_steps < 2 && !evaluates) {
        change->why_not = "fewer than two steps of an optimizer were recorded";
        return -ENOENT;
    }
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        const struct mt_recorded_step *own = mt_step_after(recording, block->begin);
        const struct mt_recorded_step *next = own ? mt_step_after(recording, own->end) : NULL;
        if (next && block->begin > recording->step[0].end && next->end < block->end &&
            !mt_is_of_model(block))
            edits->block[i].end = mt_moment_of(next->end);
    }
    return 0;
}

/* Free what the evaluation in which the recording ends saves for a backward that never comes: an
 * activation when its module is done with it, a batch with the next forward. */
int mt_change_no_grad(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    size_t n = recording->n_turns, first = mt_last_forwards(recording);
    (void)argument;
    if (first >= n || !mt_ends_in_evaluation(recording)) {
        change->why_not = "the run does not end in an evaluation";
        return -ENOENT;
    }
    size_t next = after_forward(recording, first);
    for (size_t i = mt_first_made(recording, recording->turn[first].event); i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        while (next < n && recording->turn[next].event <= block->begin)
            next = after_forward(recording, next);
        if (!block->saved || mt_is_of_model(block))
            continue;
        if (block->category == MT_CATEGORY_ACTIVATIONS)
            mt_end_unsaved(edits, i);
        else if (next < n && recording->turn[next].event < block->end)
            edits->block[i].end = mt_moment_of(recording->turn[next].event);
    }
    return 0;
}

int mt_change_host_copies(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool is_found = false;
    (void)argument;
    for (size_t i = 0; i < recording->n; i++) {
        if (!mt_is_weight_copy(&recording->block[i]))
            continue;
        is_found = true;
        mt_drop_block(edits, i);
    }
    if (!is_found)
        change->why_not = "no copies of weights were seen";
    return is_found ? 0 : -ENOENT;
}

/* Return whether it is a request that failed, and that PyTorch repeated with half the size. */
static bool is_halved(const struct mt_recorded_block *block, const struct mt_recorded_block *next)
{
    uint64_t half = mt_block_of(block->size / 2), bytes = mt_requested_bytes(next);
    return block->was_caught && block->stack == next->stack && bytes <= half + 512 &&
           bytes + 512 >= half;
}

int mt_change_no_benchmark(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool is_found = false, is_search = false;
    (void)argument;
    for (size_t i = recording->n; i--;) {
        const struct mt_recorded_block *block = &recording->block[i];
        is_search = block->search || (is_search && is_halved(block, block + 1));
        if (is_search && !(edits->without & MT_GUESS_PLANS))
            mt_drop_block(edits, i);
        is_found |= is_search;
    }
    if (!is_found)
        change->why_not = "no search of torch.backends.cudnn.benchmark was recorded";
    /* On a card, the measured times decide what is used after the search. */
    if (!mt_info(recording->definitions, "env.CUDASIM_GPU"))
        edits->guesses |= MT_GUESS_PLANS;
    return is_found ? 0 : -ENOENT;
}

/* A program catches an out-of-memory error and tries again, while the exception still holds the
 * frames of what failed, and these their tensors. */

/* An attempt: its forward and its backward, up to the request that ran out of memory. */
struct attempt {
    uint64_t begin, end; /* events */
    uint32_t module;     /* with which its forward begins */
};

/* Return the attempt that ended with the failed request, and what its forward began with. */
static struct attempt attempt_of(const struct mt_recording *recording, uint64_t failed)
{
    const struct mt_turn *next = mt_turn_after(recording, failed);
    size_t i = next ? (size_t)(next - recording->turn) : recording->n_turns;
    struct attempt attempt = {.end = failed};
    while (i && recording->turn[i - 1].phase == MT_PHASE_BACKWARD)
        i--; /* it ended in its backward */
    while (i && recording->turn[i - 1].phase != MT_PHASE_BACKWARD &&
           recording->turn[i - 1].phase != MT_PHASE_STEP) {
        const struct mt_turn *turn = &recording->turn[--i];
        if (turn->phase == MT_PHASE_FORWARD && turn->module) {
            attempt.module = turn->module;
            attempt.begin = turn->event;
        }
    }
    return attempt;
}

/* Return when forward begins again after it; MT_EVER: it went on, as PyTorch does where a library
 * finds no memory for its fastest algorithm. */
static uint64_t again(const struct mt_recording *recording, const struct attempt *attempt)
{
    const struct mt_turn *turn = mt_turn_after(recording, attempt->end);
    const struct mt_turn *end = mt_turns_end(recording);
    for (; turn && turn < end && turn->phase != MT_PHASE_BACKWARD; turn++)
        if (turn->phase == MT_PHASE_FORWARD && turn->module == attempt->module)
            return turn->event;
    return MT_EVER;
}

/* Free what the attempt made and is there when forward begins again. Its inputs are older than its
 * forward: those after the newest parameter, and no older than the last backward. */
static void drop_attempt(struct mt_edits *edits, const struct attempt *attempt, uint64_t until)
{
    const struct mt_recording *recording = edits->recording;
    uint64_t model = 0;
    for (size_t i = 0; i < recording->n && recording->block[i].begin < attempt->end; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_earlier = block->begin < attempt->begin;
        if (is_earlier && (mt_is_of_model(block) || block->phase == MT_PHASE_BACKWARD))
            model = block->begin;
    }
    for (size_t i = 0; i < recording->n && recording->block[i].begin < attempt->end; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_input = block->category == MT_CATEGORY_INPUTS && block->begin > model;
        if (block->end <= until || mt_is_of_model(block) ||
            (block->begin < attempt->begin && !is_input))
            continue;
        if (is_input)
            edits->guesses |= MT_GUESS_INPUTS;
        if (!is_input || !(edits->without & MT_GUESS_INPUTS))
            edits->block[i].end = mt_moment_of(attempt->end);
    }
}

int mt_change_drop_exception(struct mt_edits *edits, const char *argument,
                             struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    bool is_found = false;
    (void)argument;
    /* Of several threads it is not known which one tries again. */
    size_t n = recording->several_call ? 0 : recording->n;
    for (size_t i = 0; i < n; i++) {
        const struct mt_recorded_block *failed = &recording->block[i];
        if (!failed->was_caught || failed->begin == edits->asked)
            continue;
        struct attempt attempt = attempt_of(recording, failed->begin);
        uint64_t until = attempt.module ? again(recording, &attempt) : MT_EVER;
        if (until == MT_EVER)
            continue;
        is_found = true;
        drop_attempt(edits, &attempt, until);
        mt_drop_block(edits, i); /* it fails as it did */
    }
    if (!is_found)
        change->why_not = "no out-of-memory error was caught and the work retried";
    return is_found ? 0 : -ENOENT;
}
