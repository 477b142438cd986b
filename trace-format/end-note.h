/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a recorded process ended, as its parent writes it into the trace after waitpid. The process
 * writes its own end where it can (info record `ended`), but it cannot know which signal kills it.
 */
#ifndef MT_TRACE_END_NOTE_H
#define MT_TRACE_END_NOTE_H

#include <sys/types.h>

/* The info record: "ended=exit code 3", "ended=signal 9"; in a recovered trace also a word for how
 * the recording ended (FORMAT.md, "Info keys"). */
#define MT_ENDED_INFO "ended="

/*
 * Write into a process's trace how it ended ("signal 9"), after waiting for it: into the tail if
 * there is one, else before the end block, or behind the last block. The records stay as they are,
 * and a reader finds the trace with or without the note. Return 0; -ESRCH if the trace is not of
 * this process and parent (MT_ANY_PARENT: the caller knows by other means that the process has
 * ended); another negative errno if the trace must stay as it is (it is cut, its process replaced
 * itself by another program, or another end is noted already). If the trace says the same already,
 * write nothing and return 0.
 */
#define MT_ANY_PARENT 0
int mt_note_end(const char *path, pid_t pid, pid_t parent, const char *how);

/* Read what a closed trace says of its process's end: 0 and "exit code 0", or "" if it does not
 * say; a negative errno if its blocks cannot be followed. Reads only definitions. */
#define MT_NOTED_END 64
int mt_noted_end(const char *path, char out[MT_NOTED_END]);

#endif
