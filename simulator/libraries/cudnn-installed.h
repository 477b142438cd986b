/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own cuDNN. From 9.8 on its graph interface answers heuristics and builds plans for a
 * card that is only described by its properties ("deviceless ahead-of-time compilation" in its
 * documentation), so that convolutions get the workspaces that they have on that card. None of it
 * executes.
 */
#ifndef SIM_CUDNN_INSTALLED_H
#define SIM_CUDNN_INSTALLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of cuDNN's graph interface that both sides use. */
enum {
    CUDNN_ENGINE = 2,
    CUDNN_HEURISTICS = 4,
    CUDNN_PLAN = 5,
    CUDNN_VARIANT_PACK = 16,
    CUDNN_DEVICE = 38,
    CUDNN_HANDLE_VALUE = 0,
    CUDNN_POINTER_VALUE = 6,
    CUDNN_DESCRIPTOR_VALUE = 15,
    CUDNN_CHARACTER_VALUE = 24,
    CUDNN_DEVICE_OF_HEURISTICS = 204,
    CUDNN_HANDLE_OF_PLAN = 400,
    CUDNN_DEVICE_OF_PLAN = 407,
    CUDNN_DEVICE_OF_ENGINE = 1307,
    CUDNN_JSON_OF_DEVICE = 2702,
};

/* Its functions, which return its own statuses, and the simulated card as it knows it. */
struct cudnn_installed {
    int (*create)(int type, void **out);
    int (*destroy)(void *descriptor);
    int (*set)(void *descriptor, int name, int type, int64_t count, const void *elements);
    int (*get)(const void *descriptor, int name, int type, int64_t wanted, int64_t *count,
               void *elements);
    int (*finalize)(void *descriptor);
    void (*last_error)(char *message, size_t size);
    void *device;
    size_t version; /* 91900: 9.19.0 */
    unsigned cuda;  /* 13: for CUDA 13; 0: unknown */
    bool is_named;  /* set by CUDASIM_CUDNN: it may differ from the one that the program's PyTorch
                       uses */
};

/*
 * Return it, or NULL if there is none that can answer, which is reported once. The first call loads
 * it. Thread-safe. CUDASIM_CUDNN is its folder, or "off"; by default it is the one of the wheels
 * next to the program's PyTorch.
 */
const struct cudnn_installed *cudnn_installed(void);

/* Return the version that the program's PyTorch has, or requires if it is not installed; 0 if
 * unknown. Loads nothing. */
size_t cudnn_installed_version(void);

/* Return whether an installed cuDNN is the one that the program's PyTorch has or requires. */
bool cudnn_installed_is_torchs(void);

#endif
