/* SPDX-License-Identifier: Apache-2.0 */
/* The descendants of a process. */
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

/* Find a process's running descendants. Return 0 or -ENOMEM. The caller frees `of` in any case. */
int mt_descendants_find(struct mt_descendants *all, pid_t ancestor);

#endif
