/* SPDX-License-Identifier: Apache-2.0 */
/* Another optimizer: its state for each trained parameter, and its step's temporaries. */
#include "analyzer/support/search.h"
#include "analyzer/support/to-integer.h"
#include "kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum state { STATE_NONE, STATE_ONE, STATE_TWO, STATE_EIGHT_BITS, STATE_FACTORED };

/* The optimizers of PyTorch and bitsandbytes. */
static const struct optimizer {
    const char *name;
    enum state state;
    bool counts;   /* step counts on the device, one per parameter */
    unsigned all;  /* copies of all parameters at once in a step */
    unsigned each; /* copies of one parameter at a time; each lives until the next is done */
} optimizers[] = {
    {"adamw", STATE_TWO, false, 1, 0},          {"adamw-fused", STATE_TWO, true, 0, 0},
    {"adamw-for-loop", STATE_TWO, false, 0, 2}, {"adam8bit", STATE_EIGHT_BITS, false, 0, 0},
    {"adafactor", STATE_FACTORED, false, 0, 1}, {"sgd", STATE_NONE, false, 0, 0},
    {"sgd-momentum", STATE_ONE, false, 0, 0},
};

/* bitsandbytes keeps fewer elements in 32 bits, and a scale for each block of the others. */
#define EIGHT_BITS_LEAST 4096u
#define EIGHT_BITS_BLOCK 256u

/* A tensor of fewer elements counts as a vector, without rows and columns. */
#define FACTORED_LEAST 65536u

void mt_end_unsaved(struct mt_edits *edits, size_t block)
{
    const struct mt_recorded_block *recorded = &edits->recording->block[block];
    if (!recorded->saved || recorded->category != MT_CATEGORY_ACTIVATIONS)
        return;
    const struct mt_turn *turn = mt_turn_after(edits->recording, recorded->saved);
    if (turn && mt_moment_of(turn->event) < edits->block[block].end)
        edits->block[block].end = mt_moment_of(turn->event);
}

void mt_drop_block(struct mt_edits *edits, size_t block)
{
    edits->block[block].size = 0;
}

void mt_drop_optimizer(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if ((block->category == MT_CATEGORY_OPTIMIZER_STATE && !block->is_master) ||
            (block->step && block->category == MT_CATEGORY_TEMPORARIES))
            mt_drop_block(edits, i);
    }
}

static void add_state(struct mt_edits *edits, const struct optimizer *optimizer,
                      const struct mt_recorded_block *parameter, uint64_t from)
{
    uint64_t elements = mt_recorded_elements(parameter), size = mt_edited_bytes(edits, parameter);
    uint64_t to = mt_moment_of(parameter->end);
    uint64_t scales = (elements + EIGHT_BITS_BLOCK - 1) / EIGHT_BITS_BLOCK * 4;
    if (optimizer->counts)
        mt_edits_add_as(edits, MT_ADDED_STATE, from, to, 4);
    switch (optimizer->state) {
    case STATE_NONE:
        break;
    case STATE_TWO:
        mt_edits_add_as(edits, MT_ADDED_STATE, from, to, size);
        /* fall through */
    case STATE_ONE:
        mt_edits_add_as(edits, MT_ADDED_STATE, from, to, size);
        break;
    case STATE_EIGHT_BITS:
        for (unsigned i = 0; i < 2; i++) {
            mt_edits_add_as(edits, MT_ADDED_STATE, from, to,
                            elements < EIGHT_BITS_LEAST ? elements * 4 : elements);
            mt_edits_add_as(edits, MT_ADDED_STATE, from, to,
                            elements < EIGHT_BITS_LEAST ? 0 : scales);
        }
        break;
    case STATE_FACTORED:
        if (elements < FACTORED_LEAST) {
            mt_edits_add_as(edits, MT_ADDED_STATE, from, to, size);
            break;
        }
        for (unsigned i = 0; i < 2; i++) /* rows and columns of a square */
            mt_edits_add_as(edits, MT_ADDED_STATE, from, to,
                            mt_to_uint64(sqrt((double)elements) * (double)size / (double)elements));
    }
}

/* Indices of the blocks that the optimizer steps: of trained parameters, and of their copies in
 * higher precision instead of what has one. */
struct trained {
    size_t *place;
    size_t n;
};

static int find_trained(struct trained *trained, const struct mt_recording *recording)
{
    bool has_masters = false;
    *trained = (struct trained){.place = calloc(recording->n + 1, sizeof *trained->place)};
    for (size_t i = 0; i < recording->n; i++)
        has_masters |= recording->block[i].is_master;
    for (size_t i = 0; trained->place && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool has_master = has_masters && mt_recorded_width(block) < 4;
        if (block->is_master || (mt_is_trained(block) && !has_master))
            trained->place[trained->n++] = i;
    }
    return trained->place ? 0 : -ENOMEM;
}

static void add_step(struct mt_edits *edits, const struct optimizer *optimizer,
                     const struct trained *trained, const struct mt_recorded_step *step)
{
    const struct mt_recording *recording = edits->recording;
    uint64_t from = mt_moment_of(step->begin) + 1, to = mt_moment_of(step->end);
    for (size_t i = 0; i < trained->n; i++) {
        const struct mt_recorded_block *block = &recording->block[trained->place[i]];
        if (block->begin >= step->begin)
            return; /* and so are all after it */
        if (block->end <= step->begin)
            continue;
        uint64_t size = mt_edited_bytes(edits, block);
        for (unsigned j = 0; j < optimizer->all; j++)
            mt_edits_add_as(edits, MT_ADDED_STEP, from, to, size);
        if (!optimizer->each || from + 4 > mt_moment_of(step->begin) + MT_WITHIN)
            continue;
        mt_edits_add_as(edits, MT_ADDED_STEP, from, from + 3, size);
        for (unsigned j = 1; j < optimizer->each; j++)
            mt_edits_add_as(edits, MT_ADDED_STEP, from, from + 1, size);
        from += 2;
    }
}

/* Return the first step that begins after the event; NULL: none. */
static const struct mt_recorded_step *first_step(const struct mt_recording *recording,
                                                 uint64_t event)
{
    size_t low = MT_LEADING(i, recording->n_steps, recording->step[i].begin <= event);
    return low < recording->n_steps ? &recording->step[low] : NULL;
}

static void add_states(struct mt_edits *edits, const struct optimizer *optimizer,
                       const struct trained *trained)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = 0; i < trained->n; i++) {
        const struct mt_recorded_block *block = &recording->block[trained->place[i]];
        const struct mt_recorded_step *step = first_step(recording, block->begin);
        if (step && step->begin < block->end)
            add_state(edits, optimizer, block, mt_moment_of(step->begin) + 1);
    }
}

int mt_change_optimizer(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct optimizer *optimizer = optimizers,
                           *end = optimizers + sizeof optimizers / sizeof *optimizers;
    while (optimizer < end && strcmp(optimizer->name, argument))
        optimizer++;
    if (optimizer == end)
        return -EINVAL;
    change->why_not = edits->recording->n_steps ? NULL : "no optimizer step was recorded";
    if (change->why_not)
        return -ENOENT;
    struct trained trained;
    if (find_trained(&trained, edits->recording))
        return -ENOMEM;
    mt_drop_optimizer(edits);
    add_states(edits, optimizer, &trained);
    if (optimizer->all || optimizer->each)
        for (size_t i = 0; i < edits->recording->n_steps; i++)
            add_step(edits, optimizer, &trained, &edits->recording->step[i]);
    free(trained.place);
    return edits->rc;
}
