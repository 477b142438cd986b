/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run would have gone on to ask for after its last request ran out of memory, modelled of
 * what was seen: the layers that repeat, the backward of what is saved, gradients, and the state of
 * the optimizer's first step. It is added to the recording, so that changes edit it as they do what
 * was recorded; no campaign bounds its error.
 */
#ifndef MT_REST_H
#define MT_REST_H

#include "analyzer/findings/oom.h"
#include "planner/recording/recording.h"

struct mt_rest {
    enum mt_reach known; /* what follows is modelled up to there; NOTHING: it is not cut */
    uint64_t cut;        /* event of the request that failed */
    uint64_t last;       /* event that ends what is modelled, or the cut */
    uint64_t
        ends[MT_N_REACHES]; /* event at which each ends; 0: it is behind the cut, or not known */
    size_t layers, seen;    /* equal layers, and those whose forward was whole; 0: none */
    uint64_t state;         /* bytes of the optimizer's state that are still to come */
    uint64_t passing;       /* bytes that the step needs only while it runs */
    bool is_in_step;        /* memory ran out in a step that makes state */
    bool evaluates;         /* memory ran out in a call that nothing shows to train */
    bool supposes_adam;     /* no parameter's state was seen whole: two values for each */
    struct mt_handles_to_come handles; /* of its backward, outside PyTorch; by mt_cut_extend */
    bool is_first; /* memory ran out in a forward or backward before any step, and what follows is
                    * not known: much is still to come */
};

/* Add what follows the request that failed at that event: its block is there already
 * (mt_failed_add_all), unless a library requested it, and nothing was allocated after it. 0 or
 * -ENOMEM. */
int mt_rest_add(struct mt_rest *rest, struct mt_recording *recording, uint64_t cut,
                enum mt_phase phase);

/* Write where it comes from: "12 equal layers, 5 of them seen"; "": nothing is modelled. */
void mt_rest_text(char *out, size_t size, const struct mt_rest *rest);

#endif
