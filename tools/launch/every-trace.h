/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that a run has left, to be named in one command. */
#ifndef MT_EVERY_TRACE_H
#define MT_EVERY_TRACE_H

#include <stddef.h>

struct mt_every_trace {
    char **name;
    size_t n, capacity;
};

/* A path as a user in the working directory would write it. */
const char *mt_short_path(const char *path);

/* Adds a trace by its short path. What there is no memory for is left out. */
void mt_every_trace_add(struct mt_every_trace *every, const char *name);

/* Of several, says the command that shows all of them. Frees them. */
void mt_every_trace_tell(struct mt_every_trace *every);

#endif
