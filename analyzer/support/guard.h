/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that no command may replace or write to, by whatever name: its own inputs, traces, and
 * files that belong to traces. new-file.c checks every output.
 */
#ifndef MT_GUARD_H
#define MT_GUARD_H

#include <errno.h>
#include <sys/stat.h>

/* Results; see mt_guard_error for messages. */
#define MT_OUTPUT_INPUT (-ENOTUNIQ)   /* an input of the command */
#define MT_OUTPUT_TRACE (-EBADE)      /* a trace */
#define MT_OUTPUT_PART (-EMEDIUMTYPE) /* a tail or an older segment, or the name of one */
#define MT_OUTPUT_LIVE (-EDEADLK)     /* a trace that a program is writing */

/* Return 0 if the path may be replaced or written to, else one of the results above. status: of the
 * file, with links resolved; st_mode 0: missing. */
int mt_guard_output(const char *path, const struct stat *status);

/* Allow outputs to replace traces (--force), except inputs and traces that are being written. */
void mt_guard_allow_traces(void);

/* Return a result's message; NULL: not a result. */
const char *mt_guard_error(int rc);

/* The files that a command reads. Not thread-safe: command lines are parsed by one thread. */

/* Note that the command reads this file, which may be missing. */
void mt_input_note(const char *path);

/* Return the permissions (0 to 0777) granted by all inputs that are regular files; 0777: none. */
mode_t mt_inputs_mode(void);

#endif
