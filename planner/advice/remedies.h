/* SPDX-License-Identifier: Apache-2.0 */
/* What a user does for a change of the program, and what that costs. */
#ifndef MT_PLANNER_REMEDIES_H
#define MT_PLANNER_REMEDIES_H

#include <stdbool.h>
#include <stddef.h>

/* From the cheapest. */
enum mt_cost { MT_COSTS_NOTHING, MT_COSTS_TIME, MT_COSTS_EXACTNESS, MT_COSTS_CARDS, MT_N_COSTS };

/* "nothing", "time", "exactness", "cards". */
extern const char *const mt_cost_names[MT_N_COSTS];

struct mt_remedy {
    const char *change; /* "batch:" is any batch; without a colon at its end just that change */
    enum mt_cost cost;
    const char *what;  /* to write into the program; the first %s is the change's argument */
    bool trains;       /* nothing to do where nothing is trained */
    const char *price; /* after what it costs; %s is the part of forward that runs again */
};

/* Return what makes the change, by its name; never NULL. Rows are from the cheapest. */
const struct mt_remedy *mt_remedy_of(const char *change);

/* Return the cost of the dearest of a combination's parts. */
enum mt_cost mt_remedy_cost(const char *changes);

/* Of a setting that costs nothing: after all changes that cost nothing. */
#define MT_SETTING_RANK 50u

/* Return a number that is larger for what is dearer. */
unsigned mt_remedy_rank(const char *changes);

/* Write what to put into the program for one change. */
void mt_remedy_text(char *out, size_t size, const char *change);

/* Copy the part of a combination at `changes`, into out: where the next one begins; NULL: it was
 * the last. */
const char *mt_next_change(const char *changes, char *out, size_t size);

#endif
