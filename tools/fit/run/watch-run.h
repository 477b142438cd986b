/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a run while it goes on: what it took of its cards so far, and whether more is to be
 * learned from it.
 */
#ifndef MT_FIT_WATCH_RUN_H
#define MT_FIT_WATCH_RUN_H

#include "tools/fit/job/outcome.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_run_watch;

/* Watches the traces that are, or will be, in a folder. steps: after so many iterations nothing
 * more is looked at (0: as soon as they repeat; MT_ALL_STEPS: never). NULL: no memory. */
struct mt_run_watch *mt_run_watch_create(const char *folder, uint32_t steps);

/* Reads what is new. 0; or a negative errno with why in `why`. */
int mt_run_watch_poll(struct mt_run_watch *watch, char *why, size_t size);

/* Whether memory ran out; and whether the program went on after that. */
bool mt_run_watch_is_full(const struct mt_run_watch *watch);
bool mt_run_watch_went_on(const struct mt_run_watch *watch);

/* Whether the last call that wanted memory of CUDA got none. */
bool mt_run_watch_found_none(const struct mt_run_watch *watch);

/* Whether the peak is known of every process that trains, of as many as there are to be. */
bool mt_run_watch_knows(const struct mt_run_watch *watch, size_t processes);

/* How many traces there are. */
size_t mt_run_watch_traces(const struct mt_run_watch *watch);

/* The run has ended: nothing more is read. Before the two below. */
void mt_run_watch_finish(struct mt_run_watch *watch);

/* Fills in the figures. context: bytes that a card has less from the begin. */
void mt_run_watch_sum(const struct mt_run_watch *watch, uint64_t context,
                      struct mt_outcome *outcome);

/* Writes what was asked of each device, in the order of the traces' names (mt_request_log_write);
 * nothing where that is not known of one. */
void mt_run_watch_record(const struct mt_run_watch *watch, int file);

void mt_run_watch_destroy(struct mt_run_watch *watch);

#endif
