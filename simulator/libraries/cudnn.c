/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's graph interface. A program describes a computation by descriptors, then asks for engines
 * and for the workspace of a plan. Here one engine can do everything. It needs no workspace but
 * for attention, which took 256 bytes wherever it was measured (cuDNN 9 on an H100).
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "cudnn.h"
#include "own-memory.h"

/* Make a handle. It holds what it was measured to (cuDNN 9 on an H100). */
int cudnnCreate(void **handle)
{
    static const struct own_memory own = {
        .device = {25344, 4}, .pinned = 4, .streams = OWN_STREAMS};
    if (!handle)
        return CUDNN_BAD_PARAM;
    if (sim_enter())
        return CUDNN_NOT_INITIALIZED;
    return own_memory_take(&own, handle) ? CUDNN_DEVICE_ALLOC_FAILED : CUDNN_SUCCESS;
}

int cudnnDestroy(void *handle)
{
    own_memory_give(handle);
    return CUDNN_SUCCESS;
}

/* Attributes that a program reads, by number. */
enum {
    HEURISTIC_RESULTS = 202,
    ENGINE_OF_HEURISTIC = 300,
    WORKSPACE_OF_CONFIG = 303,
    SHARED_MEMORY_OF_CONFIG = 304,
    CONFIG_OF_PLAN = 401,
    WORKSPACE_OF_PLAN = 402,
    INDEX_OF_ENGINE = 1301,
};

enum { DESCRIPTOR_VALUE = 15, ATTENTION_WORKSPACE = 256 };
enum { CONVOLUTION_OPERATION = 10, LAST_CONVOLUTION_OPERATION = 12, MATMUL_OPERATION = 19 };

/* Which operations lead to it. */
struct descriptor {
    bool attends, convolves;
};

int cudnnBackendCreateDescriptor(int type, struct descriptor **out)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return CUDNN_ALLOC_FAILED;
    (*out)->attends = type == MATMUL_OPERATION;
    (*out)->convolves = type >= CONVOLUTION_OPERATION && type <= LAST_CONVOLUTION_OPERATION;
    return CUDNN_SUCCESS;
}

int cudnnBackendDestroyDescriptor(struct descriptor *descriptor)
{
    free(descriptor);
    return CUDNN_SUCCESS;
}

int cudnnBackendFinalize(struct descriptor *descriptor)
{
    return descriptor ? CUDNN_SUCCESS : CUDNN_BAD_PARAM;
}

static void lead(const struct descriptor *from, struct descriptor *to)
{
    to->attends |= from->attends;
    to->convolves |= from->convolves;
}

/* Return whether torch.backends.cudnn.benchmark is on. */
static bool tries_all(void)
{
    void *torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    void *(*context)(void) = NULL;
    bool (*is_on)(const void *) = NULL;
    if (torch) {
        context = (void *(*)(void))(uintptr_t)dlsym(torch, "_ZN2at13globalContextEv");
        is_on =
            (bool (*)(const void *))(uintptr_t)dlsym(torch, "_ZNK2at7Context14benchmarkCuDNNEv");
        dlclose(torch);
    }
    return context && is_on && is_on(context());
}

static int64_t workspace_of(const struct descriptor *plan)
{
    if (plan->convolves)
        cudnn_note_workspace(tries_all());
    return plan->attends ? ATTENTION_WORKSPACE : 0;
}

int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count,
                             const void *elements)
{
    const struct descriptor *const *parts = elements;
    (void)name;
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    for (int64_t i = 0; type == DESCRIPTOR_VALUE && parts && i < count; i++)
        if (parts[i])
            lead(parts[i], descriptor);
    return CUDNN_SUCCESS;
}

/* Return the number of an attribute's values; lists of an engine's properties are empty. */
static int64_t values_of(int name)
{
    switch (name) {
    case HEURISTIC_RESULTS:
    case ENGINE_OF_HEURISTIC:
    case WORKSPACE_OF_CONFIG:
    case SHARED_MEMORY_OF_CONFIG:
    case CONFIG_OF_PLAN:
    case WORKSPACE_OF_PLAN:
    case INDEX_OF_ENGINE:
        return 1;
    default:
        return 0;
    }
}

/* Get an attribute. The program passes its own descriptors to be filled: they hear which operations
 * lead to them. Other numbers are zero. */
int cudnnBackendGetAttribute(const struct descriptor *descriptor, int name, int type,
                             int64_t wanted, int64_t *count, void *elements)
{
    struct descriptor **parts = elements;
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    if (count)
        *count = values_of(name);
    if (!elements || wanted < 1)
        return CUDNN_SUCCESS;
    if (type == DESCRIPTOR_VALUE && values_of(name) && parts[0])
        lead(descriptor, parts[0]);
    else if (name == WORKSPACE_OF_CONFIG || name == WORKSPACE_OF_PLAN)
        *(int64_t *)elements = workspace_of(descriptor);
    else if (name == INDEX_OF_ENGINE)
        *(int64_t *)elements = 0;
    else if (name == SHARED_MEMORY_OF_CONFIG)
        *(int32_t *)elements = 0;
    return CUDNN_SUCCESS;
}

int cudnnGetProperty(int type, int *value)
{
    static const int version[] = {9, 26, 0};
    if (type < 0 || type > 2)
        return CUDNN_BAD_PARAM;
    *value = version[type];
    return CUDNN_SUCCESS;
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    if (size)
        message[0] = 0;
}
