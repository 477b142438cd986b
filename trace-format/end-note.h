/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a recorded process ended, written into the trace by its parent after waitpid. The process
 * records its own end where it can (info record `ended`), but it cannot know which signal kills it.
 */
#ifndef MT_TRACE_END_NOTE_H
#define MT_TRACE_END_NOTE_H

#include <sys/types.h>

/* The info record: "ended=exit code 3", "ended=signal 9"; in a recovered trace also a word for how
 * the recording ended (FORMAT.md, "Info keys"). */
#define MT_ENDED_INFO "ended="

/*
 * Write into a process's trace how it ended ("signal 9"); call it after waitpid. The note goes into
 * the tail if there is one, else before the end block or after the last block. Existing records are
 * unchanged. Return 0, also if the trace has the same note already; -ESRCH if the trace does not
 * belong to this process and parent (MT_ANY_PARENT: the caller knows by other means that the
 * process has ended); another negative errno if the trace must stay as it is: it is truncated, its
 * process executed another program, or a different end is noted.
 */
#define MT_ANY_PARENT 0
int mt_note_end(const char *path, pid_t pid, pid_t parent, const char *how);

/* Read from a closed trace how its process ended: 0 and "exit code 0", or "" if the trace does not
 * say; a negative errno if its blocks cannot be followed. Reads definitions only. */
#define MT_NOTED_END 64
int mt_noted_end(const char *path, char out[MT_NOTED_END]);

#endif
