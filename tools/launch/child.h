/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running the user's program.
 */
#ifndef MT_CHILD_H
#define MT_CHILD_H

#include <sys/types.h>

/* How a child ended, in the words of trace-format/end-note.h: "exit code 3", "signal 9". */
struct mt_child_end {
    pid_t pid; /* 0: it was not seen */
    char how[32];
};

/* The words for a status of waitpid. */
void mt_child_words(int status, char how[32]);

/* Runs a program as a child, in the process's environment, to its end. Signals that were sent to
 * memtap alone go on to it. The exit code as a shell has it: the program's own, 128 + a signal's
 * number; 127 and 126, after a message, where it could not be started. */
int mt_child_run(char *const argv[], struct mt_child_end *end);

/* Becomes the program; comes back, with 127 or 126 and after a message, only where it cannot. */
int mt_child_become(char *const argv[]);

#endif
