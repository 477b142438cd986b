/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording's blocks after a change: smaller, with shorter lifetimes, absent, or new; and the
 * highest total that they reach.
 */
#ifndef MT_EDITS_H
#define MT_EDITS_H

#include "planner/recording/recording.h"

/* A moment: an event's number, and room for moments before the next one. */
#define MT_WITHIN_BITS 20u
#define MT_WITHIN (UINT64_C(1) << MT_WITHIN_BITS)
static inline uint64_t mt_moment_of(uint64_t event)
{
    return event >= UINT64_MAX >> MT_WITHIN_BITS ? MT_EVER : event << MT_WITHIN_BITS;
}

/* What an added block is: changes that come later treat it as they do recorded ones. */
enum mt_added {
    MT_ADDED_OTHER,
    MT_ADDED_STATE, /* of the optimizer */
    MT_ADDED_STEP,  /* made and gone in a step of it */
    MT_ADDED_SAVED, /* by a node in forward: a copy in another type */
};

struct mt_edit {
    uint64_t begin, end;  /* moments; MT_EVER: the trace ends before */
    uint64_t size : 56;   /* bytes */
    enum mt_added as : 8; /* of an added one */
};

/* What a change takes for granted and a trace does not tell. */
enum mt_guess {
    MT_GUESS_STORES = 1,    /* what outlives a step is of the batch */
    MT_GUESS_INPUTS = 2,    /* so are inputs */
    MT_GUESS_SCORES = 8,    /* what is as large as scores of attention, is scores */
    MT_GUESS_FLOATS = 16,   /* nothing is made of 32 bits again by the program itself */
    MT_GUESS_MADE = 32,     /* what forward makes of no parameter is of the batch: masks, biases */
    MT_GUESS_PRODUCTS = 64, /* nothing: activations are multiplied as in no run that was compared */
    MT_GUESS_COPIES = 128,  /* what has as many elements as a parameter is of the batch, no copy */
    MT_GUESS_OTHERS = 256,  /* so is what no product with weights shows to be */
    MT_GUESS_PLANS = 512,   /* no algorithm of cuDNN's needs more than the fastest one did */
    MT_GUESS_STREAMS = 1024, /* layers gathered on streams of their own leave no more in pieces */
    MT_GUESS_CALLS = 4, /* calls from lines whose calls had no backward are checkpointed, too */
};

/* Where one of these matters, an answer has no bound. */
#define MT_NO_BOUND                                                                                \
    (MT_GUESS_SCORES | MT_GUESS_FLOATS | MT_GUESS_MADE | MT_GUESS_PRODUCTS | MT_GUESS_COPIES |     \
     MT_GUESS_OTHERS | MT_GUESS_PLANS)

struct mt_edits {
    const struct mt_recording *recording;
    struct mt_edit *block; /* the recording's, in its order; then those that are added */
    size_t n, capacity;
    unsigned without; /* enum mt_guess: changes are not to make these guesses */
    unsigned guesses; /* enum mt_guess: that matter for the changes made */
    uint64_t asked;   /* event of the failed request that they are to serve; 0: none */
    int rc;           /* -ENOMEM: some could not be added */
    uint64_t others;  /* bytes more that are used outside PyTorch, for its streams */
};

/* Begin with what was recorded. 0 or -ENOMEM; to be cleared in any case. */
int mt_edits_begin(struct mt_edits *edits, const struct mt_recording *recording);
void mt_edits_clear(struct mt_edits *edits);

/* Add one block. edits->rc says that there is too little memory. */
void mt_edits_add(struct mt_edits *edits, uint64_t begin, uint64_t end, uint64_t bytes);
void mt_edits_add_as(struct mt_edits *edits, enum mt_added as, uint64_t begin, uint64_t end,
                     uint64_t bytes);

/* Return bytes that a parameter's elements have by now: precisions and batches may be edited
 * already. */
uint64_t mt_edited_bytes(const struct mt_edits *edits, const struct mt_recorded_block *parameter);

/* Find the most bytes that are live at one time, and when. 0 or -ENOMEM. */
int mt_edits_peak(const struct mt_edits *edits, uint64_t *bytes, uint64_t *moment);

/* Return how much of what is live at the moment the recorded run did not ask for: PyTorch leaves
 * more or less unused by what is free then. */
uint64_t mt_edits_unused(const struct mt_edits *edits, uint64_t moment);

/* Return the edited bytes of what a node saved of a block: a slice of it is as large as its
 * gradient, which a product with a weight allocates along with the weight's. */
uint64_t mt_saved_bytes(const struct mt_edits *edits, const struct mt_recorded_node *node,
                        const struct mt_recorded_block *block);

#endif
