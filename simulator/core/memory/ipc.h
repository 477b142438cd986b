/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that other processes of the machine can open. What is exported gets a file behind it; the
 * others find the file among the descriptors of the process that exports. It counts on the device
 * of that process only.
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

/* -EINVAL: the address is not in memory of cudaMalloc. */
SIM_API int sim_ipc_export(void *address, struct sim_ipc_memory *handle);
/* -EINVAL: no handle; -EDEADLK: it is of this process; -ENOENT: its memory is gone. */
SIM_API int sim_ipc_open(const struct sim_ipc_memory *handle, void **out);
SIM_API int sim_ipc_close(void *address);

#endif
