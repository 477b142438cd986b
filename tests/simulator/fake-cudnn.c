/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the user's cuDNN: answers for a device that is known by its properties, as far as
 * test-cudnn.c asks. FAKE_VERSION: its version; FAKE_REFUSES: it refuses the device. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENGINE = 2, HEURISTIC = 4, PLAN = 5, DEVICE = 38, TYPES = 64 };
enum { HANDLES = 0, CHARACTERS = 24, DEVICE_OF_HEURISTIC = 204, DEVICE_OF_PLAN = 407, JSON = 2702 };
enum { RESULTS = 202, CONFIG_OF_PLAN = 401, WORKSPACE = 402 };
enum { BAD_PARAM = 2000, INTERNAL = 4000 };

struct descriptor {
    int type, is_final, knows_device, operation;
    char json[4096];
};

size_t cudnnGetVersion(void);
size_t cudnnGetCudartVersion(void);
int cudnnBackendCreateDescriptor(int type, struct descriptor **out);
int cudnnBackendDestroyDescriptor(struct descriptor *descriptor);
int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count,
                             const void *elements);
int cudnnBackendGetAttribute(const struct descriptor *descriptor, int name, int type,
                             int64_t wanted, int64_t *count, void *elements);
int cudnnBackendFinalize(struct descriptor *descriptor);
void cudnnGetLastErrorString(char *message, size_t size);

size_t cudnnGetVersion(void)
{
    return FAKE_VERSION;
}

size_t cudnnGetCudartVersion(void)
{
    return 13000;
}

int cudnnBackendCreateDescriptor(int type, struct descriptor **out)
{
    *out = calloc(1, sizeof **out);
    (*out)->type = type;
    (*out)->operation = type >= 10 && type <= 12 ? type : 0;
    return 0;
}

int cudnnBackendDestroyDescriptor(struct descriptor *descriptor)
{
    free(descriptor);
    return 0;
}

/* A handle is refused: there is no card. A device must be final, and of the right card. */
int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count,
                             const void *elements)
{
    if (type == HANDLES)
        return BAD_PARAM;
    if (name == JSON && type == CHARACTERS) {
        memcpy(descriptor->json, elements, (size_t)count);
        return FAKE_REFUSES ? BAD_PARAM : 0;
    }
    const struct descriptor *const *parts = elements;
    for (int64_t i = 0; i < count; i++) {
        if (parts[i]->type == DEVICE)
            descriptor->knows_device =
                parts[i]->is_final && strstr(parts[i]->json, "\"deviceVer\":") != NULL;
        descriptor->operation |= parts[i]->operation;
    }
    return 0;
}

/* Three configurations; the workspace of a plan names the operation. */
int cudnnBackendGetAttribute(const struct descriptor *descriptor, int name, int type,
                             int64_t wanted, int64_t *count, void *elements)
{
    (void)type;
    if (!descriptor->is_final || !descriptor->knows_device)
        return INTERNAL;
    if (name == RESULTS) {
        struct descriptor **configs = elements;
        *count = 3;
        for (int64_t i = 0; i < wanted && i < *count; i++)
            configs[i]->operation = descriptor->operation;
    } else if (name == WORKSPACE) {
        *count = 1;
        *(int64_t *)elements = 1000 + descriptor->operation;
    }
    return 0;
}

int cudnnBackendFinalize(struct descriptor *descriptor)
{
    descriptor->is_final = 1;
    return 0;
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    snprintf(message, size, "maxCtasPerSM is missing");
}
