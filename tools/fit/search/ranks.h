/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of a line's job differ in memory, by runs of some of them on one card: rank 0 notes
 * its groups, by which the ranks are arranged; kinds.h says which are run then.
 */
#ifndef MT_FIT_RANKS_H
#define MT_FIT_RANKS_H

#include "tools/fit/job/job.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which ranks of a job differ. A rank has a coordinate on each axis of the job's mesh. On each axis
 * the first two ranks, the last two and the middle one are run; between two that differ more are,
 * down to neighbours. Those between two that are equal are taken to be like them. Where an axis
 * makes no difference to rank 0, only its last coordinate is tried beside other ranks.
 */

enum { MT_MOST_AXES = 20 };

struct mt_rank_kinds {
    unsigned world;
    struct mt_rank_axis {
        unsigned stride, size;
        unsigned intervals; /* of equal ranks beside rank 0, once it is walked */
    } axis[MT_MOST_AXES];   /* the smallest stride first */
    unsigned n_axes;
    struct mt_rank_run {
        unsigned rank;
        uint64_t kind;  /* equal for ranks that are alike */
        uint64_t order; /* of all requests; 0: not known */
        const struct mt_outcome *outcome;
    } known[MT_MOST_RANK_RUNS];
    unsigned n_known;
    /* What is to be run next. */
    unsigned wanted[MT_MOST_RANK_RUNS];
    unsigned n_wanted;
    /* The answer, once nothing is wanted. */
    struct mt_rank_kind {
        const struct mt_rank_run *first; /* of the lowest rank that was run */
        unsigned stands;                 /* for so many ranks, itself among them */
        unsigned runs;                   /* how many of them were run */
        unsigned exact; /* of these, how many asked for the same as it, to the last request */
    } kind[MT_MOST_RANK_RUNS];
    unsigned n_kinds;
    unsigned unknown; /* ranks of which no kind is known: too many differ */
};

/* Begin with a job of one axis. */
void mt_rank_kinds_begin(struct mt_rank_kinds *kinds, unsigned world);

/* Divide the axes by a group of ranks with equal distances, in which rank 0 is the first. One that
 * does not fit into the others' divides nothing. */
void mt_rank_kinds_divide(struct mt_rank_kinds *kinds, unsigned stride, unsigned count);

/* Note what a run showed. */
void mt_rank_kinds_learn(struct mt_rank_kinds *kinds, struct mt_rank_run run);

/* Find what is to be run next. False: nothing is; the answer is there. */
bool mt_rank_kinds_next(struct mt_rank_kinds *kinds);

struct mt_line_ranks {
    struct mt_rank_kinds kinds;  /* once they are found, that which takes most first */
    unsigned n_started, n_ended; /* of those that are wanted now */
    unsigned tried[MT_MOST_RANK_RUNS];
    bool is_found;
    size_t at;                        /* the position at which they are run */
    char groups[PATH_MAX];            /* a file for the groups that rank 0 makes */
    unsigned rank[MT_MOST_RANK_RUNS]; /* the first of each kind, in their order */
};

/* Begin with a job of so many ranks. The file is made. 0 or a negative errno. To be ended in any
 * case. */
int mt_line_ranks_begin(struct mt_line_ranks *ranks, unsigned world, const char *folder,
                        size_t line);
void mt_line_ranks_end(struct mt_line_ranks *ranks);

/* Return the next rank to be run, which counts as started. NULL: none is to be, as long as others
 * run. */
const unsigned *mt_line_ranks_next(struct mt_line_ranks *ranks);

/* Learn from a rank's run what it showed and, from a file that is closed then, what it asked for.
 */
void mt_line_ranks_learn(struct mt_line_ranks *ranks, unsigned rank,
                         const struct mt_outcome *outcome, int asked);

#endif
