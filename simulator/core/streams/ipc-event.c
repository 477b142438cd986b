/* SPDX-License-Identifier: Apache-2.0 */
/* Events that other processes open: all recorded work is done, in every process. */
#include "ipc-event.h"

#include <errno.h>
#include <unistd.h>

enum { MAGIC = 0x656d6973 };
enum { INTERPROCESS = 4, DISABLE_TIMING = 2 };

_Static_assert(sizeof(struct sim_ipc_event) == 64, "as large as CUDA's");

int sim_ipc_export_event(const struct sim_event *event, struct sim_ipc_event *handle)
{
    if ((event->flags & (INTERPROCESS | DISABLE_TIMING)) != (INTERPROCESS | DISABLE_TIMING))
        return -EINVAL;
    *handle =
        (struct sim_ipc_event){.magic = MAGIC, .pid = (uint32_t)getpid(), .flags = event->flags};
    return 0;
}

int sim_ipc_open_event(const struct sim_ipc_event *handle, struct sim_event **out)
{
    if (handle->magic != MAGIC)
        return -EINVAL;
    return sim_event_create((unsigned)handle->flags, out);
}
