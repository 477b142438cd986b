/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the iterations of a training repeat: then what comes is known. They do when PyTorch's
 * allocator hands out the same blocks at the same addresses again, in the same order; with it in
 * the same state the same requests have the same answers. Two iterations may take turns, as where a
 * loss lives on into the next one, and so may up to four.
 *
 * Iterations on a stream of their own are what PyTorch asks for before a CUDA graph is captured: of
 * these, some more have to repeat.
 */
#ifndef MT_FIT_REPEAT_H
#define MT_FIT_REPEAT_H

#include "analyzer/replay/replay.h"

#include <stdbool.h>

struct mt_repeat {
    struct mt_repeat_span {
        uint64_t exact;    /* of each block that began or ended, in order, with its address */
        uint64_t shape;    /* of the sizes of those that began, in any order */
        uint64_t reserved; /* bytes, after the last */
        uint64_t plain;    /* blocks that began on the default stream */
    } *span;               /* as the replay's spans are */
    size_t n, capacity;
    size_t looked;     /* spans there were when iterations were counted last */
    uint32_t complete; /* iterations of training, up to then */
    bool repeats;
};

/* A watch of zeros is new. Takes an event into account that was replayed: 0 or -ENOMEM. is_beside:
 * it is of another stream than the default one. */
int mt_repeat_note(struct mt_repeat *repeat, struct mt_replay *replay, const struct mt_event *event,
                   bool is_beside);
void mt_repeat_clear(struct mt_repeat *repeat);

#endif
