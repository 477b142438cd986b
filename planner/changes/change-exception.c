/* SPDX-License-Identifier: Apache-2.0 */
/* A program that catches an out-of-memory error and tries again, while the exception still holds
 * the frames of what failed, and these their tensors. */
#include "kinds.h"

#include <errno.h>

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
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *failed = &recording->block[i];
        if (!failed->was_caught)
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
