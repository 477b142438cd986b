/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's libraries take of a card beside PyTorch: each handle of cuBLAS, cuDNN and cuSOLVER
 * holds memory of the driver. PyTorch makes one for each thread that calls the library, and keeps
 * it. A run that ended early had not made all that it would have made.
 */
#ifndef MT_HANDLES_H
#define MT_HANDLES_H

#include "analyzer/replay/replay.h"

#define MT_HANDLES_KEPT 32u

/* A device's handles, as far as the trace has been read; zeros are none. */
struct mt_handles {
    struct mt_handle {
        uint64_t bytes;
        uint32_t thread;
        uint8_t library;  /* enum of handles.c */
        bool of_backward; /* a backward node made it: its thread runs nothing else */
    } of[MT_HANDLES_KEPT];
    size_t n;
};

/* What the rest of a run takes for handles. */
struct mt_handles_to_come {
    uint64_t bytes; /* for backward's thread, as much as those that are there */
    bool lacks;     /* cuBLAS had none, so that the trace does not say how large one is */
};

/* Note an event of the device, after the replay. */
void mt_handles_note(struct mt_handles *handles, const struct mt_replay *replay,
                     const struct mt_event *event);

/* Return what handles hold of the card. */
uint64_t mt_handles_bytes(const struct mt_handles *handles);

/* Return what a backward takes that is still to come. */
struct mt_handles_to_come mt_handles_of_backward(const struct mt_handles *handles);

#define MT_HANDLES_TEXT 200

/* Write what is counted of them, and what is not, with `between` between the two; "": there is
 * nothing to say. Return out. */
const char *mt_handles_text(char *out, size_t size, const struct mt_handles_to_come *to_come,
                            const char *between);

#endif
