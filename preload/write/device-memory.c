/* SPDX-License-Identifier: Apache-2.0 */
#include "device-memory.h"
#include "preload/loader/find-real.h"
#include "preload/loader/loaded.h"
#include "preload/record/fork-wait.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
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

enum state { UNTRIED, READY, ABSENT };

static struct {
    _Atomic enum state state;
    int (*init)(void);
    int (*by_bus)(const char *bus, void **device);
    int (*memory)(void *device, struct nvml_memory *out);
    int (*processes)(void *device, unsigned *n, struct nvml_process *out);
    unsigned (*bus_of)(char *out, int size, int device); /* cuDeviceGetPCIBusId */
    void *device[MOST_DEVICES];
} nvml;

static int find(void *library, void *slot, const char *symbol)
{
    void *found = mt_real_dlsym(library, symbol);
    memcpy(slot, &found, sizeof found);
    return found != NULL;
}

static enum state start(void)
{
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

/* In a container NVML may know other numbers of processes than we do, or tell none at all. */
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

/* A fork while somebody loads a library leaves the child a loader that ends it; and one while NVML
 * is asked, an NVML that waits for ever, also where the program asks it. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

int mt_device_memory_hold(void)
{
    return mt_fork_wait(&asking);
}

void mt_device_memory_release(void)
{
    pthread_mutex_unlock(&asking);
}

static int ask(int device, struct mt_device_memory *out)
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
    pthread_mutex_lock(&asking);
    int rc = ask(device, out);
    pthread_mutex_unlock(&asking);
    return rc;
}

const char *mt_device_memory_status(void)
{
    switch (nvml.state) {
    case READY:
        return "yes";
    case ABSENT:
        return "no: there is no NVML for this CUDA";
    case UNTRIED:
        break;
    }
    return "no: nothing was to be asked, or NVML took too long";
}

void mt_device_memory_reset(void)
{
    memset(&nvml, 0, sizeof nvml);
    pthread_mutex_init(&asking, NULL);
}
