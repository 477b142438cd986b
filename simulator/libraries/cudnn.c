/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's graph interface. A program describes a computation by descriptors, then asks for engines
 * and for the workspace of a plan. Here one engine can do everything, without a workspace.
 */
#include <stdlib.h>
#include <string.h>

#include "cudnn.h"

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

struct descriptor {
    int type;
};

int cudnnBackendCreateDescriptor(int type, struct descriptor **out)
{
    *out = malloc(sizeof(**out));
    if (!*out)
        return CUDNN_ALLOC_FAILED;
    (*out)->type = type;
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

int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count,
                             const void *elements)
{
    (void)name, (void)type, (void)count, (void)elements;
    return descriptor ? CUDNN_SUCCESS : CUDNN_BAD_PARAM;
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

/* Get an attribute. The program passes its own descriptors to be filled: they stay empty. Numbers
 * are zero. */
int cudnnBackendGetAttribute(const struct descriptor *descriptor, int name, int type,
                             int64_t wanted, int64_t *count, void *elements)
{
    (void)type;
    if (!descriptor)
        return CUDNN_BAD_PARAM;
    if (count)
        *count = values_of(name);
    if (!elements || wanted < 1)
        return CUDNN_SUCCESS;
    if (name == WORKSPACE_OF_CONFIG || name == WORKSPACE_OF_PLAN || name == INDEX_OF_ENGINE)
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
