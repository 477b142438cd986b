/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters by precision: what a parameter takes as weight, gradient, master weight and optimizer
 * state, so that the sum of bytes a parameter (2 + 2 + 4 + 8 in mixed precision) can be read off. Each
 * parameter counts once, whatever copies and parts of it there are.
 */
#ifndef MT_PRECISION_H
#define MT_PRECISION_H

#include <stdbool.h>

#include "analyzer/classify/classify.h"
#include "analyzer/classify/parts.h"

enum mt_role {
    MT_ROLE_WEIGHTS,
    MT_ROLE_GATHERED, /* of several processes' parts, for as long as a layer needs them */
    MT_ROLE_COPIES,   /* that nothing trains: averages */
    MT_ROLE_GRADIENTS,
    MT_ROLE_MASTERS,
    MT_ROLE_STATE,
    MT_ROLES
};

struct mt_precision_row {
    enum mt_role role;
    unsigned dtype; /* by labels; 0: not known */
    unsigned width; /* bytes an element: by the type, or since its tensors are as large as the
                     * parameters with so many; 0: not known */
    uint64_t bytes, blocks; /* bytes: of the tensors, as far as that is known */
};

#define MT_PRECISION_ROWS 16u

struct mt_precision {
    uint64_t parameters; /* elements of all weights; 0: not known, and there are no rows */
    uint64_t here;       /* of these, what this process has, where others have the rest */
    int lacks_others;    /* others have a rest, and how much is not known */
    uint64_t rounding;   /* bytes that blocks have more than their tensors, as far as known */
    uint64_t bytes;      /* of all rows */
    bool is_mixed;       /* there are elements of several widths, or of less than 4 bytes */
    struct mt_precision_row row[MT_PRECISION_ROWS]; /* by role, the largest first */
    size_t n;
};

extern const struct mt_role_name {
    const char *name, *label; /* for JSON, and for people */
} mt_role_names[MT_ROLES];

/* Of the blocks of one device. 0 or -ENOMEM. */
int mt_precision_find(struct mt_precision *precision, const struct mt_definitions *definitions,
                      const struct mt_parts *parts, const struct mt_verdict *verdicts, size_t n);

#endif
