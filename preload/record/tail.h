/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail (trace-format/tail.h) of the trace being written: rings and new definitions in a file,
 * which outlives the process. Without a tail, rings are in plain memory, and a kill loses what the
 * writer had not taken. A page of the file must never lack room on the disk, or the host would get
 * a SIGBUS: so reserve room first, on file systems that keep it.
 */
#ifndef MT_PRELOAD_TAIL_H
#define MT_PRELOAD_TAIL_H

#include "ring.h"
#include "trace-format/tail.h"

#include <stdbool.h>

/* Make the tail of a trace. On failure, mt_tail_status says why. Writer only. */
void mt_tail_open(const char *trace_path, uint64_t start_ns);

/* Return whether there is a tail. */
int mt_tail_exists(void);

/* Return whether it has the rings of all threads. */
bool mt_tail_has_all(void);

/* Return "yes", or "no: " or "partly: " with the reason. */
const char *mt_tail_status(void);

/* Put the ring of a new thread, all zeros in mapped memory, into the file. Return 0 with its slot,
 * or with -1: the ring stays where it is, and is apart if there is a tail. -ENOMEM: the memory is
 * gone. Callers hold one lock. */
int mt_tail_take_ring(struct mt_own_ring *ring, int *slot);

/* Forget what an earlier thread wrote to a ring in the file, before another one has it. */
void mt_tail_clear_ring(struct mt_own_ring *ring);

/* Count events of rings that are apart (is_slotless), by an atomic addition. Any thread. */
void mt_tail_count_slotless(uint64_t events);

/* Note how many of these are in the trace, by the mark of that index. Writer only. */
void mt_tail_note_slotless(unsigned index, uint64_t events);

/* Give the slot back, before the ring is unmapped. */
void mt_tail_give_ring(struct mt_own_ring *ring, int slot);

/* Return whether the file says what this process wrote there, and the same for the ring of a
 * thread; always, if there is none. Writer only. */
bool mt_tail_is_ours(void);
bool mt_tail_ring_is_ours(struct mt_own_ring *ring, int slot, uint32_t thread);

/* Leave the file to those who write to it: go on in memory. Return 0 or -ENOMEM. For threads.h,
 * with its lock. */
int mt_tail_leave(void);
int mt_tail_leave_ring(struct mt_own_ring *ring, int *slot);

/* Note a definition. If the journal is full, wait a little for the writer, then leave it out. The
 * caller holds the definitions' lock. */
void mt_tail_define(const struct mt_definition *definition);

/* Return the bytes of definitions noted so far. */
uint64_t mt_tail_journal(void);

/* Note how far the trace has got. mt_tail_mark returns an index of the rings' `safe`: fill that in,
 * then call mt_tail_turn, which makes both hold, then fill in the other one. Writer only. */
unsigned mt_tail_mark(const struct mt_tail_mark *mark);
void mt_tail_turn(const struct mt_tail_mark *mark);

/* Note for readers why nothing more will come (enum mt_tail_end). Return 1, or 0 if there is no
 * tail or another note. A caller that noted it may take it back. Any thread, no lock. */
int mt_tail_note_end(enum mt_tail_end end, const char *why);
void mt_tail_forget_end(void);

/* Say for readers on other machines that the process lives. Writer only. */
void mt_tail_say_alive(void);

/* Return whether another process asks for everything (tail-request.h), for so many iterations more:
 * each request once. Then tell it how far that is: what was recorded before is in the trace; the
 * iterations are over, too. Writer only. */
bool mt_tail_take_request(uint32_t *iterations);
void mt_tail_answer(bool is_finished);

/* Remove the file, because the trace is complete. Writer only. */
void mt_tail_remove(void);

/* Reset in a forked child: the file is its parent's. */
void mt_tail_reset(void);

#endif
