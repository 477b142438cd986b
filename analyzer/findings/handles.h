/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of NVIDIA's libraries outside PyTorch: each handle of cuBLAS, cuDNN and cuSOLVER holds
 * memory of the driver. PyTorch creates a handle for each thread that calls the library, and keeps
 * it. A run that ended early may lack some.
 */
#ifndef MT_HANDLES_H
#define MT_HANDLES_H

#include "analyzer/replay/replay.h"

#define MT_HANDLES_KEPT 32u

/* A device's handles so far. A zeroed struct has none. */
struct mt_handles {
    struct mt_handle {
        uint64_t bytes;
        uint64_t wanted; /* of its last request, if that failed */
        uint32_t thread;
        uint8_t library;  /* enum of handles.c */
        bool of_backward; /* created by a backward node, whose thread runs nothing else */
    } of[MT_HANDLES_KEPT];
    size_t n;
};

/* Handles that the rest of a run will create. */
struct mt_handles_to_come {
    uint64_t bytes; /* for backward's thread, as much as the existing ones */
    bool lacks;     /* cuBLAS had none, so its handle's size is unknown */
};

/* Note an event of the device, after the replay. */
void mt_handles_note(struct mt_handles *handles, const struct mt_replay *replay,
                     const struct mt_event *event);

/* Return the bytes held by handles. */
uint64_t mt_handles_bytes(const struct mt_handles *handles);

/* Return the handles that a future backward will create. */
struct mt_handles_to_come mt_handles_of_backward(const struct mt_handles *handles);

#define MT_HANDLES_TEXT 200

/* Write which handles are counted and which are not, separated by `between`; "" if there are none.
 * Return out. */
const char *mt_handles_text(char *out, size_t size, const struct mt_handles_to_come *to_come,
                            const char *between);

#endif
