/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find which ranks of a line's job differ in memory, from runs of some of them on one card. The
 * groups of rank 0 arrange the ranks in a mesh.
 */
#ifndef MT_FIT_RANKS_H
#define MT_FIT_RANKS_H

#include "tools/memtap/fit/job/job.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kinds of a job's ranks. A rank has a coordinate on each axis of the job's mesh. On each axis
 * the first two ranks, the last two and the middle one are run, and more between two that differ,
 * down to neighbours. Ranks between two equal ones are assumed to equal them. If an axis makes no
 * difference for rank 0, only its last coordinate is tried for other ranks.
 */

enum { MT_MOST_AXES = 20 };

struct mt_rank_kinds {
    unsigned world;
    struct mt_rank_axis {
        unsigned stride, size;
        unsigned intervals; /* number of equal ranks next to rank 0, once walked */
    } axis[MT_MOST_AXES];   /* by stride, the smallest first */
    unsigned n_axes;
    struct mt_rank_run {
        unsigned rank;
        uint64_t kind;  /* equal for ranks of one kind */
        uint64_t order; /* hash of all requests; 0: unknown */
        const struct mt_outcome *outcome;
    } known[MT_MOST_RANK_RUNS];
    unsigned n_known;
    /* The ranks to run next. */
    unsigned wanted[MT_MOST_RANK_RUNS];
    unsigned n_wanted;
    /* The answer, once no rank is requested. */
    struct mt_rank_kind {
        const struct mt_rank_run *first; /* the run of the lowest rank */
        unsigned stands;                 /* the number of ranks it stands for, including itself */
        unsigned runs;                   /* how many of them were run */
        unsigned exact;                  /* of these, runs with exactly the same requests */
    } kind[MT_MOST_RANK_RUNS];
    unsigned n_kinds;
    unsigned unknown; /* ranks whose kind is unknown, because too many differ */
};

/* Initialize a job with one axis. */
void mt_rank_kinds_begin(struct mt_rank_kinds *kinds, unsigned world);

/* Split the axes by a group of equidistant ranks that begins with rank 0. Ignore a group that does
 * not fit the existing axes. */
void mt_rank_kinds_divide(struct mt_rank_kinds *kinds, unsigned stride, unsigned count);

/* Record a run's outcome. */
void mt_rank_kinds_learn(struct mt_rank_kinds *kinds, struct mt_rank_run run);

/* Find the ranks to run next. Return false if there are none: the answer is complete. */
bool mt_rank_kinds_next(struct mt_rank_kinds *kinds);

struct mt_line_ranks {
    struct mt_rank_kinds kinds;  /* once found, the kind with the highest peak first */
    unsigned n_started, n_ended; /* index into the requested ranks */
    unsigned tried[MT_MOST_RANK_RUNS];
    bool is_found;
    size_t at;                        /* the position that is run */
    char groups[PATH_MAX];            /* a file for the groups of rank 0 */
    unsigned rank[MT_MOST_RANK_RUNS]; /* the first rank of each kind, in order */
};

/* Begin with a job of `world` ranks and create the file. Return 0 or a negative errno. Call the end
 * function in any case. */
int mt_line_ranks_begin(struct mt_line_ranks *ranks, unsigned world, const char *folder,
                        size_t line);
void mt_line_ranks_end(struct mt_line_ranks *ranks);

/* Return the next rank to run and count it as started. NULL: none while the others run. */
const unsigned *mt_line_ranks_next(struct mt_line_ranks *ranks);

/* Record a rank's outcome and its requests, from a file that is then closed. */
void mt_line_ranks_learn(struct mt_line_ranks *ranks, unsigned rank,
                         const struct mt_outcome *outcome, int request_log);

#endif
