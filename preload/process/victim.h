/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that this one is about to kill. SIGKILL leaves it no time for a note, so a reader could
 * not distinguish a server that ends its workers from a crash: note in its trace's tail who did it.
 */
#ifndef MT_PRELOAD_VICTIM_H
#define MT_PRELOAD_VICTIM_H

/* Open the tail of the process's trace. Return a descriptor, or -1 if there is none or another call
 * is using it. Safe in a signal handler. */
int mt_victim_open(int pid);

/* Note that this process has killed it. */
void mt_victim_note(int tail, int pid, int signal);

#endif
