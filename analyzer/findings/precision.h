/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters by precision: the bytes of weights, gradients, master weights and optimizer state,
 * from which the bytes a parameter (2 + 2 + 4 + 8 in mixed precision) follow. Each parameter counts
 * once, with all its copies and parts.
 */
#ifndef MT_PRECISION_H
#define MT_PRECISION_H

#include <stdbool.h>

#include "analyzer/classify/classify.h"
#include "analyzer/classify/parts.h"

enum mt_role {
    MT_ROLE_WEIGHTS,
    MT_ROLE_GATHERED, /* from several processes' parts, while a layer needs them */
    MT_ROLE_COPIES,   /* untrained copies: averages */
    MT_ROLE_GRADIENTS,
    MT_ROLE_MASTERS,
    MT_ROLE_STATE,
    MT_ROLES
};

struct mt_precision_row {
    enum mt_role role;
    unsigned dtype;         /* by labels; 0: unknown */
    unsigned width;         /* bytes an element: by the type, or because its tensors are as large as
                             * parameters with so many; 0: unknown */
    uint64_t bytes, blocks; /* bytes: of the tensors, as far as known */
};

#define MT_PRECISION_ROWS 16u

struct mt_precision {
    uint64_t parameters; /* elements of all weights; 0: unknown, and there are no rows */
    uint64_t here;       /* this process's part of them, if other processes have the rest */
    bool lacks_others;   /* other processes have an unknown rest */
    uint64_t rounding;   /* bytes of blocks beyond their tensors, as far as known */
    uint64_t bytes;      /* of all rows */
    bool is_mixed;       /* elements have several widths, or less than 4 bytes */
    struct mt_precision_row row[MT_PRECISION_ROWS]; /* by role, the largest first */
    size_t n;
};

extern const struct mt_role_name {
    const char *name, *label; /* for JSON and for people */
} mt_role_names[MT_ROLES];

/* Examine the blocks of one device. 0 or -ENOMEM. */
int mt_precision_find(struct mt_precision *precision, const struct mt_definitions *definitions,
                      const struct mt_parts *parts, const struct mt_verdict *verdicts, size_t n);

#endif
