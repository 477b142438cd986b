/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that train at the same time. The program's phases alternate between them, so each
 * thread's iterations are counted by its own steps.
 */
#ifndef MT_TRAINERS_H
#define MT_TRAINERS_H

#include "analyzer/support/grow.h"
#include "turns.h"

#define MT_TRAINERS_MOST 4096u /* threads; others are left out */

struct mt_trainers {
    struct mt_trainer {
        uint64_t worked; /* the first event of a graph since its last step; 0: none */
        uint64_t *begin; /* the same, of each iteration that a step has ended */
        size_t n, capacity;
        uint64_t last; /* step */
    } *trainer;        /* by thread */
    size_t n, capacity;
    uint32_t stack; /* of a step; 0: unknown, */
    bool differ;    /* and of others */
};

void mt_trainers_clear(struct mt_trainers *trainers);

/* Note that a thread makes a graph. 0 or -ENOMEM. */
static inline int mt_trainers_work(struct mt_trainers *trainers, uint32_t thread, uint64_t number)
{
    if (thread < trainers->n && trainers->trainer[thread].worked)
        return 0;
    if (thread >= MT_TRAINERS_MOST)
        return 0;
    if (MT_GROW(trainers->trainer, trainers->capacity, (size_t)thread))
        return -ENOMEM;
    if (thread >= trainers->n)
        trainers->n = thread + 1;
    trainers->trainer[thread].worked = number;
    return 0;
}

/* Note that an optimizer begins a step. 0 or -ENOMEM. */
int mt_trainers_step(struct mt_trainers *trainers, const struct mt_event *event, uint64_t number);

/* Set *turns, of zeros, to the iterations of the thread that has the most, if several train at the
 * same time; to the turns of a loop if each of these has several. 0 or -ENOMEM. */
int mt_trainers_find(struct mt_turns *turns, const struct mt_trainers *trainers,
                     const struct mt_visits *visits, const struct mt_definitions *definitions,
                     bool is_broken_off);

#endif
