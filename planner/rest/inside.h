/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of mt_rest_add. */
#ifndef MT_REST_INSIDE_H
#define MT_REST_INSIDE_H

#include "planner/recording/facts.h"
#include "rest.h"

struct mt_resting {
    struct mt_rest *rest;
    struct mt_recording *recording;
    uint64_t now; /* the newest event */
    struct mt_shard_groups groups;
    struct mt_module_calls calls; /* layers, including the added ones */
    uint32_t like;                /* the group of the layer that the missing ones match */
    size_t first;                 /* the first call of this iteration */
    uint64_t logits;              /* bytes of the logits; 0: unknown */
    size_t n_logits;              /* how many of forward's two were seen */
    size_t head;                  /* index of the block of the parameter that computes them */
    uint64_t sums;                /* bytes in which backward sums the gradient of their bias */
    uint64_t again; /* bytes that a checkpointed layer allocates again in backward; 0: none */
};

/* Return the layer of a module's frame; 0: none. */
uint32_t mt_rest_group(const struct mt_resting *resting, uint32_t frame);

/* Add a block like the given one that begins now. Return its index; SIZE_MAX: no memory. */
size_t mt_rest_make(struct mt_resting *resting, struct mt_recorded_block like);
size_t mt_rest_make_of(struct mt_resting *resting, uint64_t bytes, enum mt_category category,
                       enum mt_phase phase);
void mt_rest_end(struct mt_resting *resting, size_t block);
int mt_rest_turn(struct mt_resting *resting, uint32_t module, enum mt_phase phase);

/* Add the layers that this forward would still call, and the loss. Return 0, -ENOMEM, or -ENOENT if
 * they are unknown. */
int mt_rest_forward(struct mt_resting *resting);

/* Repeat the events of a range, shifted by offset. Blocks allocated before `own` are not copied.
 * Return 0 or -ENOMEM. */
int mt_rest_copy_turns(struct mt_resting *resting, uint64_t from, uint64_t to, uint64_t offset);
int mt_rest_copy_nodes(struct mt_resting *resting, uint64_t from, uint64_t to, uint64_t own,
                       uint64_t offset);

/* Return the first forward event of the iteration in progress at the event; 0: none. */
uint64_t mt_rest_forward_of(const struct mt_recording *recording, uint64_t to);

/* Add the optimizer's step. Return 0, -ENOMEM, or -ENOENT if its state follows no known rule. */
int mt_rest_step(struct mt_resting *resting, bool is_begun);

/* Add another forward and backward like those that ended with the event, with the step's state
 * live. Return 0, -ENOMEM, or -ENOENT if no forward was seen. */
int mt_rest_next(struct mt_resting *resting, uint64_t to);

/* Blocks that are live at the cut, by size, so that each is found once. */
struct mt_rest_sizes {
    uint64_t *size;
    size_t n;
};
int mt_rest_sizes_of(struct mt_rest_sizes *sizes, const struct mt_resting *resting,
                     enum mt_category category);
bool mt_rest_sizes_take(struct mt_rest_sizes *sizes, uint64_t size);

#endif
