/* SPDX-License-Identifier: Apache-2.0 */
/* A first pass over a trace, for formats that write during a second one: what only the complete
 * trace shows. Used by one thread at a time. */
#ifndef MT_FIRST_PASS_H
#define MT_FIRST_PASS_H

#include "export.h"

struct mt_pass {
    struct mt_replay replay; /* its definitions, spans and timelines */
    uint16_t *rules;         /* by event: of the block that it allocated, index + 1; 0: none */
    size_t rules_capacity;
    bool has_no_memory;
};

/* Read a trace; of the question, only rules, no_labels and device matter. Return NULL and set *rc
 * to a negative errno with *error filled; or return a pass, to be closed, and set *rc to 0, also if
 * the trace is valid only up to a fault, which *error has. */
struct mt_pass *mt_pass_open(const struct mt_export *export, const char *path, int *rc,
                             struct mt_export_error *error);
void mt_pass_close(struct mt_pass *pass);

/* Return the final rule of the block that an event allocated: an index for mt_rule_at, or -1 if the
 * event allocated none. */
int mt_pass_rule(const struct mt_pass *pass, uint64_t event);

#endif
