/* SPDX-License-Identifier: Apache-2.0 */
/* The child process that finds the holders, in its copy of the program's memory. */
#ifndef MT_HOLDERS_CHILD_H
#define MT_HOLDERS_CHILD_H

#include "answer.h"
#include "preload/scan/regions.h"

/* What the child gets. */
struct mt_holders_task {
    struct mt_holders_answer *answer;
    const struct mt_memory_range *left_out; /* memory that the writer shares with other children */
    uint32_t n_left_out;
    struct mt_scan_thread thread; /* whose moment it is */
    uint64_t most_ns;             /* how long it may search */
};

/* Run as the child until it exits. */
_Noreturn void mt_holders_child(const struct mt_holders_task *task);

#endif
