/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the trace that something is imported to: definitions by what they say, then events. */
#ifndef MT_IMPORT_SCRIPT_H
#define MT_IMPORT_SCRIPT_H

#include "analyzer/support/address-map.h"
#include "trace-format/encoder.h"

#include <stdbool.h>
#include <stdio.h>

struct mt_script {
    FILE *out; /* the caller's */
    struct mt_encoder *definitions, *events;
    bool has_events; /* no more definitions */
    uint32_t strings, pairs, frames, stacks;
    struct mt_address_map string_of;                   /* the caller's number + 1 -> id */
    struct mt_address_map pair_of, frame_of, stack_of; /* by what they are made of -> id */
    struct mt_end end;
    int rc; /* the first thing that went wrong; everything after it does nothing */
};

/* Begin a trace. 0 or a negative errno, also in script->rc; to be closed in any case. */
int mt_script_open(struct mt_script *script, FILE *out);
void mt_script_info(struct mt_script *script, const char *key, const char *value);
/* The unix time of the trace's begin, in ns; what no clock says is left out. */
void mt_script_start(struct mt_script *script, int64_t unix_ns);
void mt_script_thread(struct mt_script *script, uint32_t id, const char *name);

/* The id of a text, of which the caller has a number of its own. */
uint32_t mt_script_string(struct mt_script *script, uint32_t number, const char *text);
/* function, file: ids of texts. */
uint32_t mt_script_frame(struct mt_script *script, uint32_t function, uint32_t file, uint32_t line);
/* parent: the caller's stack, 0: none. */
uint32_t mt_script_stack(struct mt_script *script, uint32_t parent, uint32_t frame);

/* Write an event: no definitions after the first one. */
void mt_script_event(struct mt_script *script, const struct mt_event *event);

/* The recording is complete. 0 or a negative errno. */
int mt_script_end(struct mt_script *script);
void mt_script_close(struct mt_script *script);

#endif
