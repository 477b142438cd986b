/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device's memory is taken by, whoever took it, as NVML tells: it needs no CUDA context and
 * disturbs no stream. For one thread only (device-watch.c), never under a host's lock: it loads
 * NVML and asks the driver.
 */
#ifndef MT_PRELOAD_DEVICE_MEMORY_H
#define MT_PRELOAD_DEVICE_MEMORY_H

#include <stdint.h>

struct mt_device_memory {
    uint64_t total, free; /* bytes; reserved by the driver itself is neither */
    uint64_t own, others; /* bytes of this process and of all others; 0: not told */
};

/* device: CUDA's index in this process. 0, or a negative errno: -ENOSYS where there is no NVML, or
 * it does not know the device. */
int mt_device_memory(int device, struct mt_device_memory *out);

/* Whether it could be asked, in a few words. Any thread. */
const char *mt_device_memory_status(void);

/* Around a fork (fork-wait.h): keeps NVML from being loaded or asked meanwhile. */
int mt_device_memory_hold(void);
void mt_device_memory_release(void);

/* For a forked child: NVML is asked anew. */
void mt_device_memory_reset(void);

#endif
