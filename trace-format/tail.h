/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of a trace that is being written: a file beside it, mapped by the recording process,
 * with every event that is not in the trace yet (FORMAT.md, "The tail"). It outlives the process; a
 * reader continues in it where the trace ends.
 */
#ifndef MT_TRACE_TAIL_H
#define MT_TRACE_TAIL_H

#include "model.h"

#include <stdatomic.h>
#include <string.h>

#define MT_TAIL_SUFFIX ".tail"
#define MT_OLDER_SUFFIX ".0"  /* of a trace's older segment */
#define MT_NEXT_SUFFIX ".new" /* of the next one, which is being begun */
#define MT_TAIL_MAGIC "\x89MTAPTL\n"
#define MT_TAIL_MAGIC_SIZE 8u
#define MT_TAIL_VERSION 1u
#define MT_TAIL_PAGE 4096u /* bytes; everything in the file begins on a page */

#define MT_JOURNAL_SIZE (1u << 20) /* bytes */
#define MT_RING_WORDS (1u << 18)   /* of 8 bytes: 2 MiB */
#define MT_THREAD_NAME_SIZE 16u
#define MT_TAIL_SLOTS 4096u /* rings, at most: 8 GiB; threads beyond record without a tail */

/* How far the trace has got. */
struct mt_tail_mark {
    uint64_t trace_size; /* bytes of the trace that count */
    uint64_t trace_id;   /* of the trace, as in its own header */
    uint64_t journal;    /* bytes of the journal with definitions that are in the trace */
    uint32_t threads;    /* threads up to this id are defined in the trace */
    uint32_t unused;
};

/* Why no more events come although nothing killed the process. */
enum mt_tail_end {
    MT_TAIL_GOES_ON,
    MT_TAIL_STOPPED,  /* the trace could not be written any further; why: the reason */
    MT_TAIL_EXECUTED, /* the process replaced itself by another program, or is about to; why: which
                       */
    MT_TAIL_ENDED,    /* the process has ended; why: how, as its parent saw it (end-note.h) */
    MT_TAIL_ENDS
};

/* The file's first page. One of the two marks is valid, and with it one of each ring's two `safe`:
 * those of index `turn` modulo 2. The writer fills in the other ones and then increments the turn.
 * If only the other mark has the trace's id, the writer was about to turn to that trace, and that
 * mark is valid. */
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
    char why[244];                             /* in words, with zeros after them */
    _Atomic uint64_t alive_ns; /* CLOCK_REALTIME, some 2 s ago at most while the process lives */
    /* Events of threads whose rings have no slot in the file: ever put, and in the trace by either
     * mark. The difference is lost with the process. */
    _Atomic uint64_t apart_put, apart_safe[2];
    /* A request of another process (tail-request.h), the only words that it writes: how often one
     * was made, and of the newest, how many iterations are told whole. Then the newest request that
     * the writer has answered, and the newest whose iterations are over. */
    _Atomic uint32_t asked, asked_iterations, answered, finished;
};

/*
 * A thread's events on their way to the trace: one thread puts, the writer takes, no lock. An event
 * is a head word (kind, device, stack), its time on CLOCK_MONOTONIC, and its kind's arguments.
 */
struct mt_ring {
    _Atomic uint64_t put; /* words ever put; index modulo MT_RING_WORDS */
    uint32_t unused;
    _Atomic uint32_t thread; /* id in the trace; 0: the slot is free */
    _Atomic uint64_t lost;   /* events that no LOST event counts yet */
    uint32_t os_thread;
    char name[MT_THREAD_NAME_SIZE];
    _Alignas(64) uint64_t unused_too;
    _Atomic uint64_t safe[2]; /* words that the trace has, for a reader of the tail */
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

/* Read a put event at word `at` of a ring's words, of which those before `end` may be read. head:
 * its first word, with a kind that there is. Return its size in words. */
static inline unsigned mt_ring_read(const uint64_t word[MT_RING_WORDS], uint64_t at, uint64_t end,
                                    uint64_t head, struct mt_event *event)
{
    enum { WORDS = 2 + MT_EVENT_ARGS };
    static const uint64_t mask[MT_EVENT_ARGS + 1][MT_EVENT_ARGS] = {
        {0}, {-1ull}, {-1ull, -1ull}, {-1ull, -1ull, -1ull}, {-1ull, -1ull, -1ull, -1ull}};
    uint64_t arg[MT_EVENT_ARGS] = {0};
    unsigned n = mt_kind_fields[(uint16_t)head];
    if (at % MT_RING_WORDS <= MT_RING_WORDS - WORDS && end - at >= WORDS) {
        memcpy(arg, &word[at % MT_RING_WORDS + 2], sizeof arg); /* whatever the kind is */
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
