/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of a trace that is being written: a file next to the trace, mapped by the recording
 * process, with every event that is not in the trace yet (FORMAT.md, "The tail"). It outlives the
 * process; a reader continues in it where the trace ends.
 */
#ifndef MT_TRACE_TAIL_H
#define MT_TRACE_TAIL_H

#include "model.h"

#include <stdatomic.h>
#include <string.h>

#define MT_TAIL_SUFFIX ".tail"
#define MT_OLDER_SUFFIX ".0"  /* of a trace's older segment */
#define MT_NEXT_SUFFIX ".new" /* of the next one, while it is being created */
#define MT_TAIL_MAGIC "\x89MTAPTL\n"
#define MT_TAIL_MAGIC_SIZE 8u
#define MT_TAIL_VERSION 1u
#define MT_TAIL_PAGE 4096u /* bytes; each part of the file begins on a page */

#define MT_JOURNAL_SIZE (1u << 20) /* bytes */
#define MT_RING_WORDS (1u << 18)   /* of 8 bytes: 2 MiB */
#define MT_THREAD_NAME_SIZE 16u
#define MT_TAIL_SLOTS 4096u /* at most, 8 GiB; further threads record without a tail */

/* How far the trace has been written. */
struct mt_tail_mark {
    uint64_t trace_size; /* bytes of the trace that count */
    uint64_t trace_id;   /* of the trace, as in its own header */
    uint64_t journal;    /* bytes of the journal with definitions that are in the trace */
    uint32_t threads;    /* threads up to this id are defined in the trace */
    uint32_t unused;
};

/* Why events stop although nothing killed the process. */
enum mt_tail_end {
    MT_TAIL_GOES_ON,
    MT_TAIL_STOPPED,  /* writing the trace failed; why: the reason */
    MT_TAIL_EXECUTED, /* the process executed another program, or is about to; why: which */
    MT_TAIL_ENDED,    /* the process has ended; why: how, as its parent reports (end-note.h) */
    MT_TAIL_ENDS
};

/* The file's first page. Of the two marks and of each ring's two `safe`, those at index `turn`
 * modulo 2 are valid. The writer fills in the others and then increments the turn. If only the
 * other mark has the trace's id, the writer was about to move to that trace and that mark is valid.
 */
struct mt_tail_header {
    unsigned char magic[MT_TAIL_MAGIC_SIZE];
    uint32_t version;
    uint32_t pid;
    uint64_t start_monotonic_ns, start_realtime_ns;
    _Atomic uint32_t turn;
    _Atomic uint32_t slots; /* rings in the file */
    struct mt_tail_mark mark[2];
    _Alignas(64) _Atomic uint64_t journal_put; /* bytes ever put */
    _Atomic uint32_t end;                      /* enum mt_tail_end */
    char why[244];                             /* text, padded with zeros */
    _Atomic uint64_t alive_ns; /* CLOCK_REALTIME, at most about 2 s old while the process lives */
    /* Events of threads whose rings have no slot in the file: ever put, and in the trace according
     * to either mark. The difference is lost if the process dies. */
    _Atomic uint64_t slotless_put, slotless_safe[2];
    /* A request of another process (tail-request.h), which writes only the first two: the number of
     * requests so far, and the iterations that the newest one wants in full. Then the newest
     * request that the writer has answered, and the newest whose iterations are over. */
    _Atomic uint32_t requested, requested_iterations, answered, finished;
    /* The newest requests that want holders, too, and that the recording stops; other processes
     * write them, before `requested`. */
    _Atomic uint32_t requested_holders, requested_stop;
};

/*
 * A thread's events on their way to the trace: one thread puts, the writer reads, without a lock.
 * An event is a head word (kind, device, stack), its time on CLOCK_MONOTONIC, and its kind's
 * arguments.
 */
struct mt_ring {
    _Atomic uint64_t put; /* words ever put; index modulo MT_RING_WORDS */
    uint32_t unused;
    _Atomic uint32_t thread; /* id in the trace; 0: the slot is free */
    _Atomic uint64_t lost;   /* events not yet counted by a LOST event */
    uint32_t os_thread;
    char name[MT_THREAD_NAME_SIZE];
    _Alignas(64) uint64_t unused_too;
    _Atomic uint64_t safe[2]; /* words that are in the trace, for a reader of the tail */
    _Alignas(MT_TAIL_PAGE) uint64_t word[MT_RING_WORDS];
};

/* Offsets in the file, in bytes: the header, the journal, then the rings. */
#define MT_TAIL_JOURNAL MT_TAIL_PAGE
#define MT_TAIL_RINGS (MT_TAIL_JOURNAL + MT_JOURNAL_SIZE)

static inline uint64_t mt_tail_ring_at(uint64_t slot)
{
    return MT_TAIL_RINGS + slot * sizeof(struct mt_ring);
}

static inline unsigned mt_ring_event_words(unsigned kind)
{
    return 2u + mt_kind_fields[kind];
}

static inline uint64_t mt_ring_head(unsigned kind, int device, uint32_t stack)
{
    return (uint64_t)stack << 32 | (uint64_t)(uint16_t)device << 16 | kind;
}

/* Read the event at word `at` of a ring's words, of which those before `end` may be read. head is
 * its first word and has a known kind. Return the event's size in words. */
static inline unsigned mt_ring_read(const uint64_t word[MT_RING_WORDS], uint64_t at, uint64_t end,
                                    uint64_t head, struct mt_event *event)
{
    enum { WORDS = 2 + MT_EVENT_ARGS };
    static const uint64_t mask[MT_EVENT_ARGS + 1][MT_EVENT_ARGS] = {
        {0}, {-1ull}, {-1ull, -1ull}, {-1ull, -1ull, -1ull}, {-1ull, -1ull, -1ull, -1ull}};
    uint64_t arg[MT_EVENT_ARGS] = {0};
    unsigned n = mt_kind_fields[(uint16_t)head];
    if (at % MT_RING_WORDS <= MT_RING_WORDS - WORDS && end - at >= WORDS) {
        memcpy(arg, &word[at % MT_RING_WORDS + 2], sizeof arg); /* the most that any kind has */
        for (unsigned i = 0; i < MT_EVENT_ARGS; i++)
            arg[i] &= mask[n][i];
    } else {
        for (unsigned i = 0; i < n; i++)
            arg[i] = word[(at + 2 + i) % MT_RING_WORDS];
    }
    memcpy(event->arg, arg, sizeof arg);
    event->kind = (uint16_t)head;
    event->device = (int16_t)(head >> 16);
    event->stack = (uint32_t)(head >> 32);
    event->time_ns = word[(at + 1) % MT_RING_WORDS];
    return 2 + n;
}

#endif
