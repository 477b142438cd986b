/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How recorded processes end that are not our children: a thread reads the roster while the program
 * runs, and holds a descriptor of each process that is in it.
 */
#ifndef MT_ENDS_H
#define MT_ENDS_H

#include "roster.h"

#include <sys/types.h>

struct mt_ends;

/* Begins to look. NULL: nothing will be known. */
struct mt_ends *mt_ends_watch(const struct mt_roster *roster);

/* No new ones are looked for any more; the program has ended. */
void mt_ends_stop(struct mt_ends *ends);

/* How the process that wrote this trace ended, in the words of trace-format/end-note.h; 0 and its
 * number; -1: not known. */
int mt_ends_of(struct mt_ends *ends, const char *trace, pid_t *pid, char how[32]);

void mt_ends_destroy(struct mt_ends *ends);

#endif
