/* SPDX-License-Identifier: Apache-2.0 */
#include "device-memory.h"
#include "preload/host/read-file.h"
#include "preload/host/settings.h"
#include "preload/loader/find-real.h"
#include "preload/loader/loaded.h"
#include "preload/record/lock.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST_DEVICES 64
#define MOST_PROCESSES 256

/* NVML's structures and versions (nvml.h of CUDA 11 to 13). */
struct nvml_memory {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_VERSION ((unsigned)sizeof(struct nvml_memory) | 2u << 24)

struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
#define NVML_NOT_TOLD (~0ull)

enum state { UNTRIED, READY, ABSENT, TIGHT };

static struct {
    _Atomic enum state state;
    int (*init)(void);
    int (*by_bus)(const char *bus, void **device);
    int (*memory)(void *device, struct nvml_memory *out);
    int (*processes)(void *device, unsigned *n, struct nvml_process *out);
    unsigned (*bus_of)(char *out, int size, int device); /* cuDeviceGetPCIBusId */
    void *device[MOST_DEVICES];
} nvml;

static bool find(void *library, void *slot, const char *symbol)
{
    void *found = mt_real_dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

/* NVML and the loader allocate in our thread from an arena of the C library: 64 MiB of address
 * space, and 128 while it is created. A program near its limit needs those itself. */
#define ROOM_FOR_NVML (1ull << 30)

static bool is_room_tight(void)
{
    char text[128];
    unsigned long long pages = 0;
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return false;
    if (mt_read_file("/proc/self/statm", text, sizeof text))
        sscanf(text, "%llu", &pages);
    return pages * (unsigned long long)sysconf(_SC_PAGESIZE) + ROOM_FOR_NVML > limit.rlim_cur;
}

static int is_driver(struct dl_phdr_info *info, size_t size, void *unused)
{
    static const char name[] = "libcuda.so";
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size, (void)unused;
    return !strncmp(slash ? slash + 1 : info->dlpi_name, name, sizeof name - 1);
}

static enum state start(void)
{
    if (!mt_loaded_each(is_driver, NULL))
        return ABSENT; /* dlopen would allocate before it fails */
    if (is_room_tight())
        return TIGHT;
    void *library = mt_loaded_open("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *driver = mt_loaded_open("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library || !driver || !find(library, &nvml.init, "nvmlInit_v2") ||
        !find(library, &nvml.by_bus, "nvmlDeviceGetHandleByPciBusId_v2") ||
        !find(library, &nvml.memory, "nvmlDeviceGetMemoryInfo_v2") ||
        !find(library, &nvml.processes, "nvmlDeviceGetComputeRunningProcesses_v3") ||
        !find(driver, &nvml.bus_of, "cuDeviceGetPCIBusId"))
        return ABSENT;
    return nvml.init() ? ABSENT : READY;
}

static void *handle_of(int device)
{
    char bus[32];
    if (device < 0 || device >= MOST_DEVICES)
        return NULL;
    if (!nvml.device[device] && !nvml.bus_of(bus, sizeof bus, device) &&
        nvml.by_bus(bus, &nvml.device[device]))
        nvml.device[device] = NULL;
    return nvml.device[device];
}

/* Attribute the device's memory to processes. In a container NVML may see other process ids than we
 * do, or none. */
static void share(void *handle, struct mt_device_memory *out)
{
    static struct nvml_process process[MOST_PROCESSES];
    unsigned n = MOST_PROCESSES;
    if (nvml.processes(handle, &n, process))
        return;
    for (unsigned i = 0; i < n && i < MOST_PROCESSES; i++)
        if (process[i].used != NVML_NOT_TOLD)
            *(process[i].pid == (unsigned)getpid() ? &out->own : &out->others) += process[i].used;
}

/* A fork while a thread loads a library leaves the child with a loader that kills it; a fork during
 * an NVML call leaves an NVML that hangs, also for the program. */
static pthread_mutex_t querying = PTHREAD_MUTEX_INITIALIZER;

bool mt_device_memory_hold(void)
{
    return mt_mutex_within(&querying, MT_MOST_LOCK_WAIT_NS);
}

void mt_device_memory_release(void)
{
    pthread_mutex_unlock(&querying);
}

static int query(int device, struct mt_device_memory *out)
{
    memset(out, 0, sizeof *out);
    if (nvml.state == UNTRIED)
        nvml.state = start();
    void *handle = nvml.state == READY ? handle_of(device) : NULL;
    struct nvml_memory memory = {.version = NVML_MEMORY_VERSION};
    if (!handle || nvml.memory(handle, &memory))
        return -ENOSYS;
    out->total = memory.total - memory.reserved;
    out->free = memory.free;
    share(handle, out);
    return 0;
}

int mt_device_memory(int device, struct mt_device_memory *out)
{
    pthread_mutex_lock(&querying);
    int rc = query(device, out);
    pthread_mutex_unlock(&querying);
    return rc;
}

const char *mt_device_memory_status(void)
{
    switch (nvml.state) {
    case READY:
        return "yes";
    case ABSENT:
        return "no: no NVML for this CUDA";
    case TIGHT:
        return "no: the address space is limited (ulimit -v), and NVML needs much of it";
    case UNTRIED:
        break;
    }
    if (!mt_settings.has_thread)
        return "no: memtap runs no thread in the program";
    return "no: there was nothing to query, or NVML took too long";
}

void mt_device_memory_reset(void)
{
    memset(&nvml, 0, sizeof nvml);
    pthread_mutex_init(&querying, NULL);
}
