/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks of a job differ. A rank has a coordinate on each axis of the job's mesh. On each axis
 * the first two ranks, the last two and the middle one are run; between two that differ more are,
 * down to neighbours. Those between two that are equal are taken to be like them. Where an axis
 * makes no difference to rank 0, only its last coordinate is tried beside other ranks.
 */
#ifndef MT_RANK_KINDS_H
#define MT_RANK_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MT_MOST_AXES = 20, MT_MOST_RANK_RUNS = 128 };

struct mt_rank_kinds {
    unsigned world;
    struct mt_rank_axis {
        unsigned stride, size;
    } axis[MT_MOST_AXES]; /* the smallest stride first */
    unsigned n_axes;
    /* What is known: the kind of each rank that was run. */
    struct {
        unsigned rank;
        uint64_t kind;
    } known[MT_MOST_RANK_RUNS];
    unsigned n_known;
    /* What is to be run next. */
    unsigned wanted[MT_MOST_RANK_RUNS];
    unsigned n_wanted;
    /* The answer, once nothing is wanted. */
    struct mt_rank_kind {
        uint64_t kind;
        unsigned rank;   /* the first that was run */
        unsigned stands; /* for so many ranks, itself among them */
        unsigned runs;   /* how many of them were run */
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
void mt_rank_kinds_learn(struct mt_rank_kinds *kinds, unsigned rank, uint64_t kind);

/* Find what is to be run next. False: nothing is; the answer is there. */
bool mt_rank_kinds_next(struct mt_rank_kinds *kinds);

#endif
