/* SPDX-License-Identifier: Apache-2.0 */
#include "trainers.h"
#include "analyzer/support/search.h"

#include <errno.h>

void mt_trainers_clear(struct mt_trainers *trainers)
{
    for (size_t i = 0; i < trainers->n; i++)
        free(trainers->trainer[i].begin);
    free(trainers->trainer);
    *trainers = (struct mt_trainers){0};
}

int mt_trainers_step(struct mt_trainers *trainers, const struct mt_event *event, uint64_t number)
{
    struct mt_trainer *trainer =
        event->thread < trainers->n ? &trainers->trainer[event->thread] : NULL;
    trainers->differ |= trainers->stack && trainers->stack != event->stack;
    trainers->stack = event->stack;
    if (!trainer || !trainer->worked)
        return 0;
    uint64_t begin = trainer->worked;
    trainer->worked = 0;
    trainer->last = number;
    return MT_APPEND(trainer->begin, trainer->capacity, trainer->n, begin);
}

static bool train_together(const struct mt_trainer *a, const struct mt_trainer *b)
{
    return a->n && b->n && a->begin[0] < b->last && b->begin[0] < a->last;
}

/* Return the number of iterations, with one that the program's end broke off. */
static size_t iterations_of(const struct mt_trainer *trainer, bool is_broken_off)
{
    return trainer->n + (is_broken_off && trainer->worked);
}

/* Return the first event of the visit in which a thread makes a graph. */
static uint64_t visit_before(const struct mt_visits *visits, uint32_t thread, uint64_t event)
{
    size_t i = MT_LEADING(k, visits->n, visits->visit[k].event <= event);
    while (i && visits->visit[i - 1].thread != thread)
        i--;
    return i ? visits->visit[i - 1].event : event;
}

/* Add the thread's iterations; first: the event that begins the first one of any thread. */
static int list_iterations(struct mt_turns *steps, const struct mt_trainer *trainer,
                           const struct mt_visits *visits, uint64_t first, bool is_broken_off)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < iterations_of(trainer, is_broken_off); i++) {
        uint64_t event = !i               ? first
                         : i < trainer->n ? visit_before(visits, steps->thread, trainer->begin[i])
                                          : visit_before(visits, steps->thread, trainer->worked);
        rc = MT_APPEND(steps->begin, steps->capacity, steps->n, event);
    }
    return rc;
}

/* Find the loop that the iterations are in. */
static int find_loop(struct mt_turns *turns, struct mt_turns *steps, const struct mt_visits *visits,
                     const struct mt_definitions *definitions)
{
    turns->thread = steps->thread;
    int rc = mt_turns_find_around(turns, visits, definitions, steps->begin, steps->n);
    if (!turns->n) {
        turns->are_steps = true;
        turns->begin = steps->begin;
        turns->n = steps->n;
        turns->capacity = steps->capacity;
        steps->begin = NULL;
    }
    turns->thread = steps->thread;
    turns->threads = steps->threads;
    turns->differ = steps->differ;
    return rc;
}

int mt_trainers_find(struct mt_turns *turns, const struct mt_trainers *trainers,
                     const struct mt_visits *visits, const struct mt_definitions *definitions,
                     bool is_broken_off)
{
    const struct mt_trainer *most = trainers->trainer;
    struct mt_turns steps = {0};
    uint64_t first = UINT64_MAX;
    for (size_t i = 1; i < trainers->n; i++)
        if (trainers->trainer[i].n > most->n)
            most = &trainers->trainer[i];
    for (size_t i = 0; i < trainers->n && most->n; i++) {
        const struct mt_trainer *trainer = &trainers->trainer[i];
        if (trainer != most && !train_together(most, trainer))
            continue;
        steps.threads++;
        steps.differ |= iterations_of(trainer, is_broken_off) != iterations_of(most, is_broken_off);
        uint64_t begin = visit_before(visits, (uint32_t)i, trainer->begin[0]);
        first = begin < first ? begin : first;
    }
    if (steps.threads < 2)
        return 0;
    steps.thread = (uint32_t)(most - trainers->trainer);
    int rc = list_iterations(&steps, most, visits, first, is_broken_off);
    if (!rc)
        rc = find_loop(turns, &steps, visits, definitions);
    free(steps.begin);
    return rc;
}
