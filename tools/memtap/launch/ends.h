/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How recorded processes end that are not our children. While the program runs, a thread reads the
 * manifest and holds a pidfd of each process in it.
 */
#ifndef MT_ENDS_H
#define MT_ENDS_H

#include "manifest.h"

#include <stddef.h>
#include <sys/types.h>

struct mt_kept_ends;

/* Start the thread. On failure return NULL: all ends are then unknown. */
struct mt_kept_ends *mt_ends_watch(const struct mt_manifest *manifest);

/* Stop watching for new processes, since the program has ended. */
void mt_ends_stop(struct mt_kept_ends *ends);

/* Write how the process that wrote this trace ended, worded as in trace-format/end-note.h. Return 0
 * and its pid; -1: unknown. */
int mt_ends_of(struct mt_kept_ends *ends, const char *trace, pid_t *pid, char how[32]);

void mt_ends_destroy(struct mt_kept_ends *ends);

/* A run's traces, named in one command. */

struct mt_every_trace {
    char **name;
    size_t n, capacity;
};

/* Return a path relative to the working directory, as a user would write it. */
const char *mt_short_path(const char *path);

/* Add a trace by its short path. Without memory, leave it out. */
void mt_every_trace_add(struct mt_every_trace *every, const char *name);

/* Print the command that shows all traces, if there are several, and free them. */
void mt_every_trace_print(struct mt_every_trace *every);

#endif
