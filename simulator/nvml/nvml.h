/* SPDX-License-Identifier: Apache-2.0 */
/* The part of NVML's binary interface that is modelled. The toolkit's wheels have no header. */
#ifndef SIM_NVML_H
#define SIM_NVML_H

#include "core/device/device.h"
#include "core/memory/memory.h"

enum nvml_code {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_UNKNOWN = 999,
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct nvml_process_v1 {
    unsigned pid;
    unsigned long long used;
};

struct nvml_process_v2 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

struct nvml_pci {
    char legacy_name[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char name[32];
};

struct nvml_fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
};

/* Return the device of a handle: the number in the machine plus one; 0 is none. */
struct sim_device *nvml_device(const void *handle, int *ordinal);
int nvml_copy_text(char *to, unsigned size, const char *text);
/* Write "GPU-...": 41 bytes with the zero. */
void nvml_uuid_text(int ordinal, char text[41]);

#endif
