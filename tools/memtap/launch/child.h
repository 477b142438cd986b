/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run the user's program.
 */
#ifndef MT_CHILD_H
#define MT_CHILD_H

#include <sys/types.h>

/* How a child ended, in the words of trace-format/end-note.h: "exit code 3", "signal 9". */
struct mt_child_end {
    pid_t pid; /* 0: no end was observed */
    char how[32];
};

/* Write the words for a status of waitpid. */
void mt_child_words(int status, char how[32]);

/* Run a program as a child, in our environment, to its end, and forward signals sent to memtap
 * alone. Return the exit code as a shell does: the program's own, 128 + a signal's number, or 127
 * or 126, after a message, if it could not be started. */
int mt_child_run(char *const argv[], struct mt_child_end *end);

/* Exec the program. Return only on failure: 127 or 126, after a message. */
int mt_child_become(char *const argv[]);

#endif
