/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The use of a device's memory by all processes, from NVML: it needs no CUDA context and disturbs
 * no stream. For one thread only (device-watch.c), never under a lock of the host: it loads NVML
 * and asks the driver.
 */
#ifndef MT_PRELOAD_DEVICE_MEMORY_H
#define MT_PRELOAD_DEVICE_MEMORY_H

#include <stdint.h>

struct mt_device_memory {
    uint64_t total, free; /* bytes; memory reserved by the driver is in neither */
    uint64_t own, others; /* bytes of this process and of all others; 0: not known */
};

/* Ask a device. device: CUDA's index in this process. Return 0 or a negative errno; -ENOSYS: no
 * NVML, or it does not know the device. */
int mt_device_memory(int device, struct mt_device_memory *out);

/* Say in a few words whether NVML could be asked. Any thread. */
const char *mt_device_memory_status(void);

/* Call around a fork (lock.h): keeps NVML from being loaded or asked meanwhile. */
int mt_device_memory_hold(void);
void mt_device_memory_release(void);

/* Reset in a forked child: ask NVML anew. */
void mt_device_memory_reset(void);

#endif
