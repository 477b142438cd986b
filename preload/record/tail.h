/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail (trace-format/tail.h) of the trace that is being written: rings and new definitions in a
 * file, so that they outlive the process. Where there can be none, rings are in plain memory, and a
 * kill loses what the writer had not taken. A page of the file must never be without room on the
 * disk, or the host would get a SIGBUS: room is reserved first, on file systems that keep to that.
 */
#ifndef MT_PRELOAD_TAIL_H
#define MT_PRELOAD_TAIL_H

#include "trace-format/tail.h"

/* Makes the tail of a trace. Where that fails, mt_tail_status says why. Writer. */
void mt_tail_open(const char *trace_path, uint64_t start_ns);

/* Whether there is one. */
int mt_tail_exists(void);

/* "yes", or "no: " or "partly: " and why. */
const char *mt_tail_status(void);

/* Puts the ring of a new thread, all zeros in mapped memory, into the file: 0 and its slot, or -1
 * where it stays where it is, and is apart if there is a tail. -ENOMEM: the memory is gone. The callers hold one lock. */
int mt_tail_take_ring(struct mt_ring *ring, int *slot);

/* So many events more have come to a ring that is apart (is_apart): an atomic addition. Any thread. */
void mt_tail_count_apart(uint64_t events);

/* As many of them are in the trace, by the mark of that index. Writer. */
void mt_tail_note_apart(unsigned index, uint64_t events);

/* Gives the slot back, before the ring is unmapped. */
void mt_tail_give_ring(struct mt_ring *ring, int slot);

/* Notes a definition. When the journal is full, waits a little for the writer, then leaves it out.
 * The caller holds the lock on all definitions. */
void mt_tail_define(const struct mt_definition *definition);

/* Bytes of definitions noted so far. */
uint64_t mt_tail_journal(void);

/* The trace has got so far: mt_tail_mark notes it and returns the index of the rings' `safe` that
 * is to be filled in before mt_tail_turn makes both hold, and the other one after it. Writer. */
unsigned mt_tail_mark(const struct mt_tail_mark *mark);
void mt_tail_turn(const struct mt_tail_mark *mark);

/* Notes why nothing will come any more, for readers (enum mt_tail_end): 1, or 0 where there is no
 * tail, or something else is noted. The caller that noted it may take it back. Any thread,
 * no lock. */
int mt_tail_note_end(enum mt_tail_end end, const char *why);
void mt_tail_forget_end(void);

/* For readers on other machines. Writer. */
void mt_tail_say_alive(void);

/* The trace is complete: the file goes. Writer. */
void mt_tail_remove(void);

/* For a forked child: the file is its parent's. */
void mt_tail_reset(void);

#endif
