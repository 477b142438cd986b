/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that other processes of the machine can open. Exported memory gets a file behind it; the
 * others find the file among the exporting process's descriptors. It counts only on that process's
 * device.
 */
#ifndef SIM_IPC_H
#define SIM_IPC_H

#include "memory.h"

/* CUDA's 64 bytes. */
struct sim_ipc_memory {
    uint32_t magic, pid;
    int file, ordinal; /* a descriptor of that process; the device's number in the machine */
    uint64_t offset;   /* of the allocation in the file */
    char reserved[40];
};

/* Export memory. -EINVAL: the address is not in memory from cudaMalloc. */
SIM_API int sim_ipc_export(void *address, struct sim_ipc_memory *handle);
/* Open memory. -EINVAL: not a handle; -EDEADLK: a handle of this process; -ENOENT: its memory was
 * freed. */
SIM_API int sim_ipc_open(const struct sim_ipc_memory *handle, void **out);
SIM_API int sim_ipc_close(void *address);

#endif
