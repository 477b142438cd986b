/* SPDX-License-Identifier: Apache-2.0 */
/* A first pass of a trace, for formats that write as they read it a second time: what only the
 * whole trace says. It belongs to one thread at a time. */
#ifndef MT_FIRST_PASS_H
#define MT_FIRST_PASS_H

#include "export.h"

struct mt_pass {
    struct mt_replay replay; /* its definitions, spans and timelines */
    uint16_t *rules;         /* by event: of the block that it made, index + 1; 0: it made none */
    size_t rules_capacity;
    bool has_no_memory;
};

/* Read a trace. Of the question, rules, no_labels and device count. NULL: none is there, and
 * *rc is a negative errno with *error filled; else *rc is 0, also where the trace is sound only up
 * to a fault, which *error has. To be closed. */
struct mt_pass *mt_pass_open(const struct mt_export *export, const char *path, int *rc,
                             struct mt_export_error *error);
void mt_pass_close(struct mt_pass *pass);

/* Return the rule that holds for the block that an event made, known at its end: an index as of
 * mt_rule_at. -1: the event made none. */
int mt_pass_rule(const struct mt_pass *pass, uint64_t event);

#endif
