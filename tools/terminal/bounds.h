/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on a command's memory and output, whatever the trace is. */
#ifndef MT_BOUNDS_H
#define MT_BOUNDS_H

/* Remove memtap's own options before the command, --most-memory, --most-output and --most-events,
 * from argv, which begins with the program's name. Where one is missing, the environment says it.
 * Return how many words they were; -1 after a message. */
int mt_bounds_read(int argc, char **argv);

/* Put the bounds into the environment, for a program that reads traces in this command's place. */
void mt_bounds_pass_on(void);

/* Apply the bounds from now on, for a command that starts no program. */
void mt_bounds_begin(void);

#endif
