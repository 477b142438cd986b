/* SPDX-License-Identifier: Apache-2.0 */
/* The largest batch with which a run that trains fits, as a part of the recorded one. */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Find whether the run is known to fit with the batch, in every case that the trace leaves open. */
static int is_certain(struct mt_judge *judge, const char *name, bool *fits)
{
    struct mt_judgement judgement;
    int rc = mt_judge_change(judge, name, NULL, &judgement);
    *fits = !rc && !judgement.why_not && judgement.served == MT_SERVED_YES &&
            (!judge->rest || judgement.reach >= judge->rest->known);
    return rc;
}

/* Find the most parts, fewer than `high`, with which it fits: a smaller batch fits where a larger
 * one does. */
static int find(unsigned *most, struct mt_judge *judge, unsigned high,
                int (*try)(struct mt_judge *judge, const char *name, bool *fits))
{
    int rc = 0;
    *most = 0;
    while (!rc && high - *most > 1) {
        unsigned middle = (*most + high) / 2;
        char name[40];
        bool fits;
        snprintf(name, sizeof name, "batch:%u/%u", middle, MT_BATCH_PARTS);
        rc = try(judge, name, &fits);
        *(fits ? most : &high) = middle;
    }
    return rc;
}

static bool has_batch(const struct mt_plan_answer *answer)
{
    size_t i = 0;
    while (i < answer->n && !mt_way_is_batch(&answer->way[i]))
        i++;
    return i < answer->n;
}

int mt_find_largest_batch(struct mt_plan_answer *answer, struct mt_judge *judge)
{
    const struct mt_rest *rest = answer->rest;
    struct mt_largest_batch *largest = &answer->largest;
    bool is_open = rest ? rest->known <= MT_REACH_BACKWARD || rest->is_first || rest->handles.lacks
                        : answer->plan->requests->ooms != 0;
    if (is_open || answer->infers || !has_batch(answer))
        return 0;
    largest->of_iteration = rest && judge->recording->n_steps > 1;
    int rc = find(&largest->about, judge, MT_BATCH_PARTS, mt_judge_about);
    if (!rc)
        rc = find(&largest->least, judge, largest->about + 1, is_certain);
    if (rc)
        *largest = (struct mt_largest_batch){0};
    return rc == -ENOMEM ? rc : 0;
}
