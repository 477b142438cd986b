/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this process, as the environment describes them, and their free memory. */
#include "device.h"
#include "say.h"
#include "trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local struct sim_thread sim_thread __attribute__((tls_model("initial-exec")));

enum {
    CONTEXT_UNIT = 65536, /* a context's memory is a multiple of this */
    CONTEXT_STACK = 1024, /* the stack of a kernel's thread that a context begins with */
};

static struct {
    pthread_once_t once;
    int machine;                  /* devices in the machine */
    int count;                    /* devices that the program sees */
    int visible[SIM_DEVICES_MAX]; /* their numbers in the machine */
    uint64_t context;             /* bytes of a context */
    pthread_mutex_t lock;         /* bringing contexts up and down */
    struct sim_device devices[SIM_DEVICES_MAX];
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static const struct sim_gpu *chosen_gpu(void)
{
    const char *name = getenv("CUDASIM_GPU");
    const struct sim_gpu *gpu = name ? sim_gpu_find(name) : NULL;
    if (name && !gpu)
        sim_print("unknown GPU %s; simulating a %s", name, sim_gpu_default()->name);
    return gpu ? gpu : sim_gpu_default();
}

/* Read CUDA_VISIBLE_DEVICES as the driver does: the list ends at the first invalid entry. */
static int read_visible(const char *list, int machine, int *visible)
{
    int count = 0;
    while (count < SIM_DEVICES_MAX && *list) {
        char *end;
        long number = strtol(list, &end, 10);
        if (end == list || number < 0 || number >= machine || (*end && *end != ','))
            break;
        for (int i = 0; i < count; i++)
            if (visible[i] == number)
                return 0; /* a device named twice hides all of them */
        visible[count++] = (int)number;
        list = *end ? end + 1 : end;
    }
    return count;
}

static void read_environment(void)
{
    const struct sim_gpu *gpu = chosen_gpu();
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    uint64_t total = sim_environment_size("CUDASIM_MEMORY", gpu->memory);
    uint64_t machine = sim_environment("CUDASIM_GPUS", 1);
    uint64_t others = sim_environment_size("CUDASIM_OTHERS", 0) & ~(SIM_PAGE - 1);
    uint64_t unowned = sim_environment_size("CUDASIM_UNOWNED", 0) & ~(SIM_PAGE - 1);
    others = others < total ? others : total;
    unowned = unowned < total - others ? unowned : total - others;
    state.machine = machine > SIM_DEVICES_MAX ? SIM_DEVICES_MAX : (int)machine;
    state.context =
        sim_environment_size("CUDASIM_CONTEXT", gpu->context) & ~(uint64_t)(CONTEXT_UNIT - 1);
    for (int i = 0; i < state.machine; i++) {
        state.visible[i] = i;
        state.devices[i] = (struct sim_device){.gpu = gpu,
                                               .total = total,
                                               .others = others,
                                               .used = others + unowned,
                                               .unowned = unowned,
                                               .stack = CONTEXT_STACK,
                                               .primary = {.device = i, .primary = true}};
    }
    state.count = list ? read_visible(list, state.machine, state.visible) : state.machine;
}

static void ready(void)
{
    pthread_once(&state.once, read_environment);
}

int sim_device_count(void)
{
    ready();
    return state.count;
}

int sim_machine_count(void)
{
    ready();
    return state.machine;
}

struct sim_device *sim_device(int number)
{
    ready();
    return number >= 0 && number < state.count ? &state.devices[number] : NULL;
}

struct sim_device *sim_machine_device(int ordinal)
{
    static struct sim_device idle;
    (void)ordinal;
    idle.gpu = state.devices[0].gpu;
    idle.total = state.devices[0].total;
    return &idle;
}

int sim_device_ordinal(int number)
{
    return state.visible[number];
}

int sim_device_pci_bus(int ordinal)
{
    return 0x1b + ordinal * 8;
}

int sim_device_pci_name(int ordinal, char *name, int size)
{
    int length = snprintf(name, size > 0 ? (size_t)size : 0, "0000:%02X:00.0",
                          (unsigned)sim_device_pci_bus(ordinal));
    return length < size ? 0 : -EINVAL;
}

void sim_device_uuid(int ordinal, unsigned char uuid[16])
{
    static const unsigned char stem[16] = {'c',  'u', 'd', 'a', 's', 'i', 0x40, 'm',
                                           0x80, 0,   0,   0,   0,   0,   0,    0};
    memcpy(uuid, stem, 16);
    uuid[15] = (unsigned char)ordinal;
}

int sim_allocate_bytes(struct sim_device *device, uint64_t bytes)
{
    uint64_t used = atomic_load(&device->used);
    do {
        if (bytes > device->total || used > device->total - bytes)
            return -ENOMEM;
    } while (!atomic_compare_exchange_weak(&device->used, &used, used + bytes));
    return 0;
}

void sim_free_bytes(struct sim_device *device, uint64_t bytes)
{
    atomic_fetch_sub(&device->used, bytes);
}

int sim_primary_up(int number)
{
    struct sim_device *device = sim_device(number);
    bool made = false;
    int error = 0;
    if (!device)
        return -ENODEV;
    if (device->alive)
        return 0;
    sim_inject();
    pthread_mutex_lock(&state.lock);
    if (!device->alive) {
        error = sim_allocate_bytes(device, state.context);
        if (!error)
            device->alive = made = true;
    }
    pthread_mutex_unlock(&state.lock);
    if (made)
        sim_report_resource(SIM_CONTEXT_CREATED, &device->primary, NULL);
    return error;
}

/* Free the memory of stacks and streams: their context ends. */
static void give_extras(struct sim_device *device)
{
    sim_free_bytes(device, device->stacks + device->for_streams);
    device->stack = CONTEXT_STACK;
    device->stacks = device->for_streams = device->streams = 0;
}

void sim_primary_end(int number, void (*forget)(int device))
{
    struct sim_device *device = sim_device(number);
    if (!device)
        return;
    if (device->alive)
        sim_report_resource(SIM_CONTEXT_DESTROYED, &device->primary, NULL);
    pthread_mutex_lock(&state.lock);
    if (device->alive) {
        device->alive = false;
        device->peers = 0;
        device->primary.references = 0;
        forget(number);
        sim_free_bytes(device, state.context);
        give_extras(device);
    }
    pthread_mutex_unlock(&state.lock);
    if (sim_thread.context == &device->primary)
        sim_thread.context = NULL;
}

int sim_further_up(int number)
{
    struct sim_device *device = sim_device(number);
    int error;
    pthread_mutex_lock(&state.lock);
    error = sim_allocate_bytes(device, device->gpu->context & ~(SIM_PAGE - 1));
    if (!error)
        device->further++;
    pthread_mutex_unlock(&state.lock);
    return error;
}

void sim_further_end(int number)
{
    struct sim_device *device = sim_device(number);
    pthread_mutex_lock(&state.lock);
    sim_free_bytes(device, device->gpu->context & ~(SIM_PAGE - 1));
    if (!--device->further && !device->alive)
        give_extras(device);
    pthread_mutex_unlock(&state.lock);
}

int sim_set_stack(int number, size_t size)
{
    struct sim_device *device = sim_device(number);
    uint64_t threads = (uint64_t)device->gpu->sms * (uint64_t)device->gpu->threads_per_sm, stacks;
    int error = 0;
    if (size > device->total)
        return -ENOMEM;
    stacks = size > CONTEXT_STACK ? threads * (size - CONTEXT_STACK) : 0;
    stacks = (stacks + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
    pthread_mutex_lock(&state.lock);
    if (stacks > device->stacks)
        error = sim_allocate_bytes(device, stacks - device->stacks);
    else
        sim_free_bytes(device, device->stacks - stacks);
    if (!error) {
        device->stack = size;
        device->stacks = stacks;
    }
    pthread_mutex_unlock(&state.lock);
    return error;
}

int sim_count_stream(struct sim_device *device, int change, uint64_t (*memory_of)(uint64_t n))
{
    int error = 0;
    pthread_mutex_lock(&state.lock);
    /* A stream that outlives its context is no longer counted. */
    unsigned streams = change < 0 && !device->streams ? 0 : device->streams + (unsigned)change;
    uint64_t bytes = memory_of(streams);
    if (bytes > device->for_streams) {
        error = sim_allocate_bytes(device, bytes - device->for_streams);
        if (!error)
            device->for_streams = bytes;
    }
    if (!error)
        device->streams = streams;
    pthread_mutex_unlock(&state.lock);
    return error;
}

int sim_enter_slow(void)
{
    int error = sim_primary_up(sim_thread.device);
    if (!error)
        sim_thread.context = &state.devices[sim_thread.device].primary;
    return error;
}

const char *sim_queried_folder;
