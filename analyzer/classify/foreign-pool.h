/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An allocation that is a library's own pool: XLA's and TensorFlow's take most of the card at their
 * start, and what lies in them makes no event. CUDA does not tell it from a large array.
 */
#ifndef MT_FOREIGN_POOL_H
#define MT_FOREIGN_POOL_H

#include "classify.h"

struct mt_foreign_pool {
    uint64_t bytes;      /* 0: none */
    const char *package; /* "jax" */
    const char *setting; /* variables with their values that show what lies in it */
};

/* Find it among the verdicts on CUDA's allocations: one of a library that has a pool, with at least
 * half of the bytes, unless the recording says that the setting was made. */
struct mt_foreign_pool mt_foreign_pool_find(const struct mt_definitions *definitions,
                                            const struct mt_verdict *verdicts, size_t n);

#endif
