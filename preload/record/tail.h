/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail (trace-format/tail.h) of the trace being written: rings and new definitions in a file,
 * which outlives the process. Without a tail, rings are in plain memory, and a kill loses what the
 * writer had not read. A page of the file that lacks disk space would give the host a SIGBUS, so
 * space is reserved first, on file systems that keep the reservation.
 */
#ifndef MT_PRELOAD_TAIL_H
#define MT_PRELOAD_TAIL_H

#include "ring.h"
#include "trace-format/tail.h"

#include <stdbool.h>

/* Create the tail of a trace. On failure, mt_tail_status has the reason. Writer only. */
void mt_tail_open(const char *trace_path, uint64_t start_ns);

/* Return whether there is a tail. */
bool mt_tail_exists(void);

/* Return whether it has the rings of all threads. */
bool mt_tail_has_all(void);

/* Return "yes", or "no: " or "partly: " with the reason. */
const char *mt_tail_status(void);

/* Move the ring of a new thread, all zeros in mapped memory, into the file. Return 0 with its slot,
 * or with slot -1: the ring stays where it is and, if there is a tail, is slotless. Return -ENOMEM
 * if the memory is lost. Callers hold one lock. */
int mt_tail_attach_ring(struct mt_own_ring *ring, int *slot);

/* Clear what an earlier thread wrote to a ring in the file, before the next one uses it. */
void mt_tail_clear_ring(struct mt_own_ring *ring);

/* Give up a ring's place in a file that has been removed, when its thread is in no hook: the ring
 * is empty memory then. Return 0 or -ENOMEM. */
int mt_tail_release_ring(struct mt_own_ring *ring, int *slot);

/* Count events of slotless rings (is_slotless), atomically. Any thread. */
void mt_tail_count_slotless(uint64_t events);

/* Note how many of these are in the trace, for the mark of that index. Writer only. */
void mt_tail_note_slotless(unsigned index, uint64_t events);

/* Release the slot, before the ring is unmapped. */
void mt_tail_detach_ring(struct mt_own_ring *ring, int slot);

/* Return whether the file, and the ring of a thread, have what this process wrote; true if there is
 * no tail. Writer only. */
bool mt_tail_is_ours(void);
bool mt_tail_ring_is_ours(struct mt_own_ring *ring, int slot, uint32_t thread);

/* Leave the file to the processes that write to it and continue in memory. Return 0 or -ENOMEM. For
 * threads.h, with its lock. */
int mt_tail_leave(void);
int mt_tail_leave_ring(struct mt_own_ring *ring, int *slot);

/* Note a definition. If the journal is full, wait briefly for the writer, then leave it out. The
 * caller holds the definitions' lock. */
void mt_tail_define(const struct mt_definition *definition);

/* Return the bytes of definitions noted so far. */
uint64_t mt_tail_journal(void);

/* Note how far the trace has been written: mt_tail_mark returns an index of the rings' `safe`; fill
 * that in, then call mt_tail_turn, which makes both valid, then fill in the other. Writer only. */
unsigned mt_tail_mark(const struct mt_tail_mark *mark);
void mt_tail_turn(const struct mt_tail_mark *mark);

/* Note for readers why nothing more will come (enum mt_tail_end). Return 1, or 0 if there is no
 * tail or another note. The caller that noted it may withdraw it. Any thread, no lock. */
bool mt_tail_note_end(enum mt_tail_end end, const char *why);
void mt_tail_forget_end(void);

/* Write a sign of life for readers on other machines. Writer only. */
void mt_tail_set_alive(void);

/* Return whether another process has a new request to record in full (tail-request.h), for how
 * many more iterations, and what else it wants. Then mt_tail_answer reports the progress: what was
 * recorded before is in the trace; the iterations are over, too. Writer only. */
bool mt_tail_accept_request(uint32_t *iterations, bool *wants_holders, bool *wants_stop);
void mt_tail_answer(bool is_finished);

/* Remove the file, because the trace is complete. Writer only. */
void mt_tail_remove(void);

/* Reset in a forked child, whose parent has the file, and after a stop. */
void mt_tail_reset(void);

#endif
