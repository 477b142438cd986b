/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a process has started, and those that these have. */
#ifndef MT_FIT_DESCENDANTS_H
#define MT_FIT_DESCENDANTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_descendants {
    struct mt_descendant {
        pid_t pid, parent;
    } *process;
    size_t n, capacity;
};

/* Finds those of the calling process. 0 or -ENOMEM; to be cleared in any case. */
int mt_descendants_find(struct mt_descendants *descendants);
void mt_descendants_clear(struct mt_descendants *descendants);

/* The bytes of the host's memory that they have for themselves. */
uint64_t mt_descendants_memory(const struct mt_descendants *descendants);

/* Kills all of them, but for those that are spared (their parents are to see how their children
 * end): these have so many seconds. The caller must be the one that orphans are given to
 * (PR_SET_CHILD_SUBREAPER); it has no child afterwards. */
void mt_descendants_end(const pid_t *spared, size_t n_spared, double grace_s);

#endif
