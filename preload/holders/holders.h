/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find what holds each block that is live at a moment. The thread of the moment forks a child by
 * the bare system call, which runs none of the program's code and none of ours. The child searches
 * its copy of the memory (child.h), and the writer reads the results when it has ended.
 */
#ifndef MT_HOLDERS_HOLDERS_H
#define MT_HOLDERS_HOLDERS_H

#include "answer.h"
#include "trace-format/model.h"

#include <stdbool.h>

#define MT_HOLDERS_SEARCHES MT_MOST_SHARED /* running, or waiting for the writer */

/* Look up Python's functions, in each thread that may start the recording. Takes the loader's
 * lock. */
void mt_holders_find(void);
/* Use what this thread has looked up. Called by the thread that starts the recording. */
void mt_holders_start(void);

/* Start a search for the moment's holders if the settings request it, no other search is running,
 * and earlier ones have not used too much of the time. Keeps errno; waits only for the kernel. Any
 * thread, under any lock of the host. */
void mt_holders_search(enum mt_holders_moment moment);

/* The same for the end of a program without Python, whose script-end.h does it. */
void mt_holders_search_at_exit(void);

/* Return whether a search has not been released yet. Writer only. */
bool mt_holders_are_sought(void);

/* Return whether any search has begun: before, none is sought. For what is checked at each event.
 */
bool mt_holders_have_begun(void);

/* Give each search that began by then the blocks that CUDA had allocated at its moment: `list`
 * fills in answer->block and n_blocks, and returns whether there was room. Writer only. */
void mt_holders_tell_blocks(uint64_t until_ns,
                            bool (*list)(struct mt_holders_answer *answer, uint64_t begin_ns));

/* The answer of a search. */
struct mt_holders_found {
    struct mt_holders_answer *answer; /* NULL: none */
    uint64_t begin_ns;                /* the moment */
    uint32_t moment, result;
};

/* Get the results of the oldest search if it has ended. Return whether there is one. Release it
 * after use. Writer only. */
bool mt_holders_take(struct mt_holders_found *found);
void mt_holders_give_back(void);

/* Wait until the oldest search has ended or its time is up. Return whether there is one. Writer
 * only. */
bool mt_holders_await(void);

/* Reset in a forked child, which does not own its parent's search. */
void mt_holders_reset(void);

#endif
