/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's packets (trace_packet.proto and track_event.proto of its protos), as the files of
 * perfetto.c write them: texts are interned; times are differences to the packet before, where that
 * can be. Tracks have numbers from 1.
 */
#ifndef MT_PERFETTO_PACKETS_H
#define MT_PERFETTO_PACKETS_H

#include "analyzer/query/texts.h"
#include "exchange/encode/proto.h"
#include "exchange/encode/sink.h"

struct mt_perfetto {
    struct mt_sink *sink;
    struct mt_proto packet, event; /* that is being written, and its track_event */
    struct mt_proto interned;      /* texts that the packet has to define */
    struct mt_texts texts; /* names of events and of their fields: place + 1 is the number */
    uint32_t defined;      /* of them */
    uint64_t now_ns;       /* of the packet before, unix time */
    uint64_t tracks;       /* so far */
    uint64_t sequence;     /* each has its own texts and its own clock */
    bool is_apart;         /* times written so far cannot be the base of the next ones */
    int rc;
};

enum mt_perfetto_type {
    MT_PERFETTO_BEGIN = 1,
    MT_PERFETTO_END = 2,
    MT_PERFETTO_INSTANT = 3,
    MT_PERFETTO_COUNTER = 4
};

/* Begin another sequence of packets, starting at this time. */
void mt_perfetto_sequence(struct mt_perfetto *to, uint64_t time_ns);

/* Make a new track below another one (0: none), and return its number. */
uint64_t mt_perfetto_process(struct mt_perfetto *to, uint64_t pid, const char *name);
uint64_t mt_perfetto_thread(struct mt_perfetto *to, uint64_t process, uint64_t pid, uint64_t tid,
                            const char *name);
uint64_t mt_perfetto_track(struct mt_perfetto *to, uint64_t parent, const char *name);
uint64_t mt_perfetto_counter(struct mt_perfetto *to, uint64_t parent, const char *name);

/* Write a value on a counter's track. */
void mt_perfetto_count(struct mt_perfetto *to, uint64_t track, uint64_t time_ns, uint64_t value);

/* Begin an event with a name (ends have none). Fields are added between begin and end. */
void mt_perfetto_begin_event(struct mt_perfetto *to, enum mt_perfetto_type type, uint64_t track,
                             const char *name);
void mt_perfetto_add_text(struct mt_perfetto *to, const char *name,
                          const char *text); /* "": nothing */
void mt_perfetto_add_number(struct mt_perfetto *to, const char *name, uint64_t number);
void mt_perfetto_end_event(struct mt_perfetto *to, uint64_t time_ns);

/* Write an event without fields. */
void mt_perfetto_event(struct mt_perfetto *to, enum mt_perfetto_type type, uint64_t track,
                       const char *name, uint64_t time_ns);

void mt_perfetto_clear(struct mt_perfetto *to);

#endif
