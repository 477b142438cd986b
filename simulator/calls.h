/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collective calls that a rank simulated alone makes to all ranks of its job: a file
 * "calls-RANK" in the folder CUDASIM_SENT has a row for each, in order. Real ranks make equal
 * calls.
 */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* The kinds of calls. Sends and receives, which may differ between ranks, are not kept. */
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
    uint16_t group; /* communicators of all ranks are numbered in the order of creation */
    uint16_t kind;  /* its place above */
    int32_t root;   /* -1: none */
};

/*
 * Compare the calls of ranks that ran one after the other. ranks: their numbers, separated by
 * commas. Return 1 with a sentence about the first rank whose calls differ from those of the first
 * one; 0 if none does, or if a rank made none.
 */
int sim_calls_differ(const char *folder, const char *ranks, char *what, size_t what_size);

#endif
