/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no command may replace or write to, whatever name leads there: its own inputs, traces, and
 * the files that belong to one. new-file.c asks for every output.
 */
#ifndef MT_GUARD_H
#define MT_GUARD_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Results, with words in mt_guard_error. */
#define MT_OUTPUT_INPUT (-ENOTUNIQ)   /* the command reads it */
#define MT_OUTPUT_TRACE (-EBADE)      /* a trace */
#define MT_OUTPUT_PART (-EMEDIUMTYPE) /* a tail or an older segment, or the name of one */
#define MT_OUTPUT_LIVE (-EDEADLK)     /* a trace that a program is writing */

/* Return 0 if the path may be replaced or written to, or one of the results above. status: of the
 * file, without links; st_mode 0: it is missing. */
int mt_guard_output(const char *path, const struct stat *status);

/* Let outputs replace traces, though not inputs, and no trace that is being written: --force. */
void mt_guard_allow_traces(void);

/* Return the words for a result; NULL: it is not one. */
const char *mt_guard_error(int rc);

/* The files that a command reads. For one thread, as command lines are read by one. */

/* Note that the command reads the file with this path, which may be missing. */
void mt_input_note(const char *path);

/* Return whether a file is an input, by whatever name: the same device and inode. */
bool mt_input_is(const struct stat *file);

/* Return the permissions (0 to 0777) that all inputs grant which are regular files; 0777: there are
 * none. */
mode_t mt_inputs_mode(void);

#endif
