/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collective calls of a rank that is alone to all ranks of its job: a file "calls-RANK" in the
 * folder that CUDASIM_SENT names has a row for each, in order. Real ranks make the same ones.
 */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* What a call is; sends and receives, which ranks make as they like, are not kept. */
#define SIM_CALLS(X)                                                                               \
    X(ALL_REDUCE, "an all-reduce")                                                                 \
    X(REDUCE, "a reduce")                                                                          \
    X(REDUCE_SCATTER, "a reduce-scatter")                                                          \
    X(ALL_GATHER, "an all-gather")                                                                 \
    X(BROADCAST, "a broadcast")                                                                    \
    X(ALL_TO_ALL, "an all-to-all")                                                                 \
    X(GATHER, "a gather")                                                                          \
    X(SCATTER, "a scatter")

struct sim_call {
    uint16_t group; /* communicators of all ranks are numbered as they are made */
    uint16_t kind;  /* its place above */
    int32_t root;   /* -1: it has none */
};

/*
 * Compare the calls of ranks that ran one after the other. ranks: their numbers, with commas
 * between. Return 1 with a sentence about the first rank whose calls differ from those of the first
 * one, 0 if none does, or if a rank made none.
 */
int sim_calls_differ(const char *folder, const char *ranks, char *what, size_t what_size);

#endif
