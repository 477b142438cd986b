/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The use of a device's memory by all processes, from NVML, which needs no CUDA context and
 * disturbs no stream. For one thread only (device-watch.c), never under a lock of the host: it
 * loads NVML and queries the driver.
 */
#ifndef MT_PRELOAD_DEVICE_MEMORY_H
#define MT_PRELOAD_DEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

struct mt_device_memory {
    uint64_t total, free; /* bytes; memory reserved by the driver is in neither */
    uint64_t own, others; /* bytes of this process and of all others; 0: unknown */
};

/* Query a device by its CUDA index in this process. Return 0 or a negative errno; -ENOSYS if there
 * is no NVML or it does not know the device. */
int mt_device_memory(int device, struct mt_device_memory *out);

/* Return as text whether NVML could be queried. Any thread. */
const char *mt_device_memory_status(void);

/* Call around a fork (lock.h): NVML is neither loaded nor queried meanwhile. */
bool mt_device_memory_hold(void);
void mt_device_memory_release(void);

/* Reset in a forked child: query NVML again. */
void mt_device_memory_reset(void);

#endif
