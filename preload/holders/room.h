/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the container still allows. If exceeding the limit kills all its processes
 * together (memory.oom.group), the child must not be the one that exceeds it. */
#ifndef MT_HOLDERS_ROOM_H
#define MT_HOLDERS_ROOM_H

#include <stdint.h>

/* Return the least that a limit of this process's cgroup or its parents leaves; UINT64_MAX: no
 * limit. Reclaimable file memory counts as free. cgroups: "/proc/self/cgroup"; mount:
 * "/sys/fs/cgroup", with cgroups of version 2. */
uint64_t mt_memory_room(const char *cgroups, const char *mount);

#endif
