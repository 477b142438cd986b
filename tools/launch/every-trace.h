/* SPDX-License-Identifier: Apache-2.0 */
/* A run's traces, named in one command. */
#ifndef MT_EVERY_TRACE_H
#define MT_EVERY_TRACE_H

#include <stddef.h>

struct mt_every_trace {
    char **name;
    size_t n, capacity;
};

/* Return a path as a user in the working directory would write it. */
const char *mt_short_path(const char *path);

/* Add a trace by its short path. Without memory it is left out. */
void mt_every_trace_add(struct mt_every_trace *every, const char *name);

/* If there are several, print the command that shows all. Free them. */
void mt_every_trace_print(struct mt_every_trace *every);

#endif
