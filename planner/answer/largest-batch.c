/* SPDX-License-Identifier: Apache-2.0 */
/* The largest batch with which a run that trains fits, as a part of the recorded one. */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool mt_way_is_batch(const struct mt_way *way)
{
    return !way->has_conf && !strncmp(way->change, "batch:", 6) && !mt_way_is_two(way);
}

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

/* Write a part, "5/8" or "3/4". */
static void part_text(char *out, size_t size, unsigned part)
{
    unsigned of = MT_BATCH_PARTS;
    for (; part % 2 == 0 && of > 1; part /= 2)
        of /= 2;
    snprintf(out, size, "%u/%u", part, of);
}

void mt_largest_batch_text(char *out, size_t size, const struct mt_largest_batch *largest)
{
    char least[16], about[16];
    part_text(least, sizeof least, largest->least);
    part_text(about, sizeof about, largest->about);
    snprintf(out, size, "the largest batch that %s is about %s of this one%s%s",
             largest->of_iteration ? "gets through this iteration" : "fits", about,
             largest->least && largest->least < largest->about ? ", at least " : "",
             largest->least && largest->least < largest->about ? least : "");
}
