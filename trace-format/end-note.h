/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a recorded process ended, written into its trace by who saw it: its parent, after waitpid. The
 * process says it itself where it can (info record `ended`), but not which signal killed it.
 */
#ifndef MT_TRACE_END_NOTE_H
#define MT_TRACE_END_NOTE_H

#include <sys/types.h>

/* The info record: "ended=exit code 3", "ended=signal 9"; of a recovered trace also a word for how
 * the recording ended (FORMAT.md, "Info keys"). */
#define MT_ENDED_INFO "ended="

/*
 * Notes in the trace of a process that has been waited for how it ended ("signal 9"): in its tail,
 * where there is one, else before its end block, or behind its last block. Nothing that was recorded
 * is touched, and a reader finds the trace as it was or with the note. 0; -ESRCH where the trace is
 * not that of this process and parent; another negative errno where the trace is to be left alone (it
 * is cut, its process became another program, somebody else has noted an end). Says the same as the
 * trace does already: 0, and nothing is written.
 */
int mt_note_end(const char *path, pid_t pid, pid_t parent, const char *how);

/* What a trace that was closed says of its process's end: 0 and "exit code 0", or "" where it does not
 * say; a negative errno where its blocks cannot be followed. Only definitions are read. */
#define MT_NOTED_END 64
int mt_noted_end(const char *path, char out[MT_NOTED_END]);

#endif
