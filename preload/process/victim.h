/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that this one is about to kill. SIGKILL leaves it no last word, so its parent's reader
 * could not tell a server that ends its workers from a crash: note in its trace's tail who did it.
 */
#ifndef MT_PRELOAD_VICTIM_H
#define MT_PRELOAD_VICTIM_H

/* Open the tail of the process's trace: a descriptor, or -1: none, or another call is at it. Safe
 * in a signal handler. */
int mt_victim_open(int pid);

/* Note that this process has killed it. */
void mt_victim_note(int tail, int pid, int signal);

#endif
