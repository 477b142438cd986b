/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a process has started, and those that these have. */
#ifndef MT_DESCENDANTS_H
#define MT_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

struct mt_descendants {
    struct mt_descendant {
        pid_t pid, parent;
    } *of;
    size_t n, capacity;
};

/* Find a process's descendants that have not ended. 0 or -ENOMEM. `of` is to be freed in any case.
 */
int mt_descendants_find(struct mt_descendants *all, pid_t ancestor);

#endif
