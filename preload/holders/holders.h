/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds each block that is live at a moment. The thread of the moment makes a child by the
 * system call alone, which runs none of the program's code and none of ours; the child searches its
 * picture of the memory (child.h), and the writer takes what it found when it has ended.
 */
#ifndef MT_HOLDERS_HOLDERS_H
#define MT_HOLDERS_HOLDERS_H

#include "answer.h"
#include "trace-format/model.h"

#include <stdbool.h>

/* Look Python's functions up, in each thread that may start the recording. Takes the loader's
 * lock. */
void mt_holders_find(void);
/* Use what this thread has looked up. In the thread that starts the recording. */
void mt_holders_start(void);

/* Begin a search of the moment's holders if the settings want it, no other is on its way, and the
 * searches before have not taken too much of the time. Keeps errno; waits for nothing but the
 * kernel. Any thread, under any lock of the host. */
void mt_holders_search(enum mt_holders_moment moment);

/* Return whether some search has not been given back. Writer only. */
bool mt_holders_are_sought(void);

/* The answer of a search. */
struct mt_holders_found {
    struct mt_holders_answer *answer; /* NULL: none */
    uint64_t begin_ns;                /* the moment */
    uint32_t moment, result;
};

#define MT_HOLDERS_SEARCHES 4u /* on their way, or waiting for the writer */

/* Take the answer of the oldest search if it has ended. Return whether there is one. Give it back
 * after use. Writer only. */
bool mt_holders_take(struct mt_holders_found *found);
void mt_holders_give_back(void);

/* Wait until the oldest search has ended, or its time is up. Return whether there is one. Writer
 * only. */
bool mt_holders_await(void);

/* Reset in a forked child, whose child the search is not. */
void mt_holders_reset(void);

#endif
