/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that an input describes, in memory: what a reader would give of a file. Records of 12
 * bytes stand for definitions and events, so that a changed byte changes the meaning of one record
 * only, and no byte stands for a checksum or a length.
 */
#ifndef MT_FUZZ_MADE_TRACE_H
#define MT_FUZZ_MADE_TRACE_H

#include "trace-format/reader.h"

#define MT_MADE_RECORD 12u
#define MT_MADE_HEADER 8u
#define MT_MADE_RECORDS 1024u /* at most; what comes after them is left out */

/* The parts of a record. */
enum {
    MT_MADE_OP,    /* below MT_MADE_DEFINITIONS an event's kind, modulo their number */
    MT_MADE_WHERE, /* bits 0-2: thread; 3-5: device; 6: totals as they stand; 7: any device */
    MT_MADE_STACK, /* of an event; of a definition, its text: in the table, or what follows */
    MT_MADE_TIME,  /* since the last event; of a definition, bytes of the text that follows */
    MT_MADE_ARGS   /* four numbers of two bytes (mt_made_number) */
};
#define MT_MADE_DEFINITIONS 0xa0u /* operations from here on are a definition's kind */
#define MT_MADE_BATCHES 0xf8u     /* and from here on end a batch */
#define MT_MADE_TEXTS 128u        /* from here on the text follows, in records of its own */

struct mt_made_trace {
    struct mt_definition definition[MT_MADE_RECORDS];
    struct mt_event event[MT_MADE_RECORDS];
    struct mt_batch batch[MT_MADE_RECORDS + 1];
    size_t n_batches;
    enum mt_trace_state state;
    struct mt_end end;
    enum mt_trace_fault fault; /* after the last batch */
    const uint8_t *choices;    /* the header's last five bytes: the harness's */
};

/* Reads an input, which has to live as long. 0, or -1 where it is too short. */
int mt_made_trace_read(struct mt_made_trace *trace, const uint8_t *bytes, size_t size);

/* What mt_reader_open opens, and all that is built on it: the path's first character is its index.
 * NULL: there is no such file. */
#define MT_MADE_TRACES 4
extern const struct mt_made_trace *mt_made_traces[MT_MADE_TRACES];

/* 12 bits, shifted by four times the others; the highest two stand for limits of 64 bits. */
uint64_t mt_made_number(unsigned code);

/* The nearest code. */
unsigned mt_made_code(uint64_t number);

#endif
