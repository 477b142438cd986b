/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's graph interface. A program describes a computation by descriptors, then queries engines
 * and the workspace of a plan. The user's own cuDNN answers where it is installed and can
 * (cudnn-installed.h). Elsewhere one engine can do everything. It needs no workspace but for
 * attention, which took 256 bytes wherever it was measured (cuDNN 9 on an H100).
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/launch.h"
#include "core/device/device.h"
#include "core/values/values.h"
#include "cudnn-installed.h"
#include "cudnn.h"
#include "own-memory.h"

/* Create a handle. Its memory is as measured (cuDNN 9 on an H100). */
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

enum { ATTENTION_WORKSPACE = 256 };
enum { CONVOLUTION_OPERATION = 10, LAST_CONVOLUTION_OPERATION = 12, MATMUL_OPERATION = 19 };

struct descriptor {
    int type;
    bool attends, convolves; /* which operations lead to it */
    void *real;              /* the installed cuDNN's, which has all other values; NULL: none */
};

int cudnnBackendCreateDescriptor(int type, struct descriptor **out)
{
    const struct cudnn_installed *installed = cudnn_installed();
    *out = malloc(sizeof(**out));
    if (!*out)
        return CUDNN_ALLOC_FAILED;
    **out = (struct descriptor){
        .type = type,
        .attends = type == MATMUL_OPERATION,
        .convolves = type >= CONVOLUTION_OPERATION && type <= LAST_CONVOLUTION_OPERATION,
    };
    int status = installed ? installed->create(type, &(*out)->real) : CUDNN_SUCCESS;
    if (status) {
        free(*out);
        *out = NULL;
    }
    return status;
}

int cudnnBackendDestroyDescriptor(struct descriptor *descriptor)
{
    if (descriptor && descriptor->real)
        cudnn_installed()->destroy(descriptor->real);
    free(descriptor);
    return CUDNN_SUCCESS;
}

/* Finalize a descriptor; the installed cuDNN gets the card instead of a handle. */
int cudnnBackendFinalize(struct descriptor *descriptor)
{
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    if (!descriptor->real)
        return CUDNN_SUCCESS;
    const struct cudnn_installed *installed = cudnn_installed();
    int device = descriptor->type == CUDNN_HEURISTICS ? CUDNN_DEVICE_OF_HEURISTICS
                 : descriptor->type == CUDNN_ENGINE   ? CUDNN_DEVICE_OF_ENGINE
                                                      : 0;
    int status = device ? installed->set(descriptor->real, device, CUDNN_DESCRIPTOR_VALUE, 1,
                                         &installed->device)
                        : CUDNN_SUCCESS;
    return status ? status : installed->finalize(descriptor->real);
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

/* Note which cuDNN determined a convolution's workspace. */
static void note_workspace(void)
{
    static _Atomic bool is_noted;
    const struct cudnn_installed *installed = cudnn_installed();
    char version[24];
    if (!installed) {
        cudnn_note_workspace(tries_all());
    } else if (!atomic_exchange(&is_noted, true)) {
        snprintf(version, sizeof version, "%zu", installed->version);
        sim_unknown_value(
            cudnn_installed_is_torchs() ? SIM_INSTALLED_WORKSPACE : SIM_NAMED_WORKSPACE, version);
    }
}

static int64_t workspace_of(const struct descriptor *plan)
{
    return plan->attends ? ATTENTION_WORKSPACE : 0;
}

/* Call `call` with the installed cuDNN's descriptors in place of these. */
#define WITH_REAL(parts, count, call)                                                              \
    ({                                                                                             \
        void *few_[16], **real_ = (count) > 16 ? malloc((size_t)(count) * sizeof *real_) : few_;   \
        int status_ = CUDNN_ALLOC_FAILED;                                                          \
        for (int64_t i_ = 0; real_ && i_ < (count); i_++)                                          \
            real_[i_] = (parts)[i_] ? (parts)[i_]->real : NULL;                                    \
        if (real_)                                                                                 \
            status_ = (call);                                                                      \
        if (real_ != few_)                                                                         \
            free(real_);                                                                           \
        status_;                                                                                   \
    })

static int set_real(const struct descriptor *descriptor, int name, int type, int64_t count,
                    const void *elements)
{
    const struct cudnn_installed *installed = cudnn_installed();
    const struct descriptor *const *parts = elements;
    if (type == CUDNN_HANDLE_VALUE)
        return name == CUDNN_HANDLE_OF_PLAN
                   ? installed->set(descriptor->real, CUDNN_DEVICE_OF_PLAN, CUDNN_DESCRIPTOR_VALUE,
                                    1, &installed->device)
                   : CUDNN_SUCCESS;
    if (type != CUDNN_DESCRIPTOR_VALUE || !parts)
        return installed->set(descriptor->real, name, type, count, elements);
    return WITH_REAL(parts, count, installed->set(descriptor->real, name, type, count, real_));
}

/* A program sets the pointers of a plan just before it executes it. */
static void note_pointers(const uint64_t *pointers, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        LIBRARY_LAUNCH("cudnnBackendExecute", pointers[i]);
}

int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count,
                             const void *elements)
{
    const struct descriptor *const *parts = elements;
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    for (int64_t i = 0; type == CUDNN_DESCRIPTOR_VALUE && parts && i < count; i++)
        if (parts[i])
            lead(parts[i], descriptor);
    if (descriptor->type == CUDNN_VARIANT_PACK && type == CUDNN_POINTER_VALUE && elements)
        note_pointers(elements, count);
    return descriptor->real ? set_real(descriptor, name, type, count, elements) : CUDNN_SUCCESS;
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

/* Answer for the one engine that supports everything. Other numbers are zero. */
static int get_own(const struct descriptor *descriptor, int name, int type, int64_t wanted,
                   int64_t *count, void *elements)
{
    if (count)
        *count = values_of(name);
    if (!elements || wanted < 1 || type == CUDNN_DESCRIPTOR_VALUE)
        return CUDNN_SUCCESS;
    if (name == WORKSPACE_OF_CONFIG || name == WORKSPACE_OF_PLAN)
        *(int64_t *)elements = workspace_of(descriptor);
    else if (name == INDEX_OF_ENGINE)
        *(int64_t *)elements = 0;
    else if (name == SHARED_MEMORY_OF_CONFIG)
        *(int32_t *)elements = 0;
    return CUDNN_SUCCESS;
}

/* Get an attribute. The program passes its own descriptors to be filled in: they learn which
 * operations lead to them. */
int cudnnBackendGetAttribute(const struct descriptor *descriptor, int name, int type,
                             int64_t wanted, int64_t *count, void *elements)
{
    const struct cudnn_installed *installed = cudnn_installed();
    struct descriptor **parts = type == CUDNN_DESCRIPTOR_VALUE && wanted > 0 ? elements : NULL;
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    for (int64_t i = 0; parts && i < (descriptor->real ? wanted : values_of(name)); i++)
        if (parts[i])
            lead(descriptor, parts[i]);
    if (elements && wanted > 0 && descriptor->convolves &&
        (name == WORKSPACE_OF_CONFIG || name == WORKSPACE_OF_PLAN))
        note_workspace();
    if (!descriptor->real)
        return get_own(descriptor, name, type, wanted, count, elements);
    if (!parts)
        return installed->get(descriptor->real, name, type, wanted, count, elements);
    return WITH_REAL(parts, wanted,
                     installed->get(descriptor->real, name, type, wanted, count, real_));
}

int cudnnGetProperty(int type, int *value)
{
    size_t version = cudnnGetVersion(), unit = version < 90000 ? 1000 : 10000;
    if (type < 0 || type > 2)
        return CUDNN_BAD_PARAM;
    *value = (int)(type == 0 ? version / unit : type == 1 ? version % unit / 100 : version % 100);
    return CUDNN_SUCCESS;
}

/* Return a status's name, which PyTorch's error shows. */
const char *cudnnGetErrorString(int status)
{
    switch (status) {
    case CUDNN_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_DEVICE_ALLOC_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    default:
        return "simulated cuDNN";
    }
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    const struct cudnn_installed *installed = cudnn_installed();
    if (installed)
        installed->last_error(message, size);
    else if (size)
        message[0] = 0;
}
