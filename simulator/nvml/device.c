/* SPDX-License-Identifier: Apache-2.0 */
/* NVML sees the machine: CUDA_VISIBLE_DEVICES hides nothing from it. */
#include "nvml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct sim_device *nvml_device(const void *handle, int *ordinal)
{
    uintptr_t number = (uintptr_t)handle;
    if (!number || number > (uintptr_t)sim_machine_count())
        return NULL;
    *ordinal = (int)number - 1;
    /* All cards are the same, but used memory is counted by the program's numbers. */
    for (int i = 0; i < sim_device_count(); i++)
        if (sim_device_ordinal(i) == *ordinal)
            return sim_device(i);
    return sim_machine_device(*ordinal);
}

int nvml_copy_text(char *to, unsigned size, const char *text)
{
    if (strlen(text) >= size)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return NVML_SUCCESS;
}

void nvml_uuid_text(int ordinal, char text[41])
{
    unsigned char b[16];
    sim_device_uuid(ordinal, b);
    snprintf(text, 41, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

const char *nvmlErrorString(int code)
{
    switch (code) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_NOT_FOUND:
        return "Not Found";
    case NVML_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    default:
        return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return nvml_copy_text(text, size, "595.00.00");
}

int nvmlSystemGetNVMLVersion(char *text, unsigned size)
{
    return nvml_copy_text(text, size, "13.595.00.00");
}

int nvmlSystemGetProcessName(unsigned pid, char *text, unsigned size)
{
    char path[32], name[4096];
    FILE *file;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    file = fopen(path, "re");
    if (!file)
        return NVML_NOT_FOUND;
    size_t length = fread(name, 1, sizeof(name) - 1, file);
    fclose(file);
    name[length] = 0;
    return nvml_copy_text(text, size, name);
}

int nvmlDeviceGetCount(unsigned *count)
{
    *count = (unsigned)sim_machine_count();
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex(unsigned index, void **handle)
{
    if (index >= (unsigned)sim_machine_count())
        return NVML_INVALID_ARGUMENT;
    *handle = (void *)(uintptr_t)(index + 1);
    return NVML_SUCCESS;
}

/* Find a device by its PCI name. NVML writes the domain with eight digits, CUDA with four; both are
 * accepted. */
int nvmlDeviceGetHandleByPciBusId(const char *wanted, void **handle)
{
    char name[16];
    size_t length = strlen(wanted);
    for (unsigned i = 0; i < (unsigned)sim_machine_count(); i++) {
        sim_device_pci_name((int)i, name, sizeof(name));
        if (length >= 12 && !strcasecmp(name, wanted + length - 12))
            return nvmlDeviceGetHandleByIndex(i, handle);
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByUUID(const char *wanted, void **handle)
{
    char text[41];
    for (unsigned i = 0; i < (unsigned)sim_machine_count(); i++) {
        nvml_uuid_text((int)i, text);
        if (!strcasecmp(text, wanted))
            return nvmlDeviceGetHandleByIndex(i, handle);
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetIndex(const void *handle, unsigned *number)
{
    int ordinal;
    if (!nvml_device(handle, &ordinal))
        return NVML_INVALID_ARGUMENT;
    *number = (unsigned)ordinal;
    return NVML_SUCCESS;
}

int nvmlDeviceGetName(const void *handle, char *text, unsigned size)
{
    int ordinal;
    const struct sim_device *device = nvml_device(handle, &ordinal);
    return device ? nvml_copy_text(text, size, device->gpu->product) : NVML_INVALID_ARGUMENT;
}

int nvmlDeviceGetUUID(const void *handle, char *text, unsigned size)
{
    char uuid[41];
    int ordinal;
    if (!nvml_device(handle, &ordinal))
        return NVML_INVALID_ARGUMENT;
    nvml_uuid_text(ordinal, uuid);
    return nvml_copy_text(text, size, uuid);
}

int nvmlDeviceGetCudaComputeCapability(const void *handle, int *major, int *minor)
{
    int ordinal;
    const struct sim_device *device = nvml_device(handle, &ordinal);
    if (!device)
        return NVML_INVALID_ARGUMENT;
    *major = device->gpu->major;
    *minor = device->gpu->minor;
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(const void *handle, struct nvml_pci *pci)
{
    int ordinal;
    if (!nvml_device(handle, &ordinal))
        return NVML_INVALID_ARGUMENT;
    memset(pci, 0, sizeof(*pci));
    pci->bus = (unsigned)sim_device_pci_bus(ordinal);
    sim_device_pci_name(ordinal, pci->legacy_name, sizeof(pci->legacy_name));
    snprintf(pci->name, sizeof(pci->name), "0000%s", pci->legacy_name);
    return NVML_SUCCESS;
}

/* Return no fabric: every field but the caller's version is zero, which says so. */
int nvmlDeviceGetGpuFabricInfoV(const void *handle, struct nvml_fabric *fabric)
{
    int ordinal;
    unsigned version = fabric->version;
    if (!nvml_device(handle, &ordinal))
        return NVML_INVALID_ARGUMENT;
    *fabric = (struct nvml_fabric){.version = version};
    return NVML_SUCCESS;
}
