/* SPDX-License-Identifier: Apache-2.0 */
/* Events that other processes of the machine can open. */
#ifndef SIM_IPC_EVENT_H
#define SIM_IPC_EVENT_H

#include "stream.h"

/* CUDA's 64 bytes. */
struct sim_ipc_event {
    uint32_t magic, pid;
    uint64_t flags;
    char reserved[48];
};

/* -EINVAL: the event was not made for other processes. */
SIM_API int sim_ipc_export_event(const struct sim_event *event, struct sim_ipc_event *handle);
SIM_API int sim_ipc_open_event(const struct sim_ipc_event *handle, struct sim_event **out);

#endif
