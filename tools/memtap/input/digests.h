/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of the traces on a command line.
 */
#ifndef MT_DIGESTS_H
#define MT_DIGESTS_H

#include <stdbool.h>

#include "analyzer/trace/ended.h"
#include "compare/digest/digest.h"

struct mt_digests {
    struct mt_digest *digest;
    size_t n;
};

/* Read all digests. Return 0, or -1 after a message. Call mt_digests_clear in any case. */
int mt_digests_read(struct mt_digests *digests, char *const *paths, size_t n,
                    const struct mt_user_rules *rules);
void mt_digests_clear(struct mt_digests *digests);

/* Return whether each digest is of a complete run or one with an allowed end. Otherwise report the
 * first that is not, and what it cannot be used as: `it`, such as "a baseline". */
bool mt_digests_are_complete(const struct mt_digests *digests, mt_allowed_ends allowed,
                             const char *it);

/* Return whether no size depends on values that are not simulated. Otherwise report the first run
 * with such a size. */
bool mt_digests_are_computed(const struct mt_digests *digests);

/* Report differences that make runs and baselines incomparable. */
void mt_print_differences(const struct mt_digests *runs, const struct mt_digests *baselines);

#endif
