/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a run while it goes on: what it took of its cards so far, and whether more is to be
 * learned from it.
 */
#ifndef MT_FIT_WATCH_H
#define MT_FIT_WATCH_H

#include "analyzer/replay/replay.h"
#include "tools/fit/job/job.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_run_watch;

struct mt_run_state {
    size_t traces;
    size_t n_known;  /* of these, how many have a peak that is known */
    bool is_full;    /* memory ran out */
    bool went_on;    /* and the program after that */
    bool found_none; /* the last call that wanted memory of CUDA got none */
    uint64_t cuda;   /* the most bytes that CUDA handed out of a device */
};

/* Watch the traces that are, or will be, in a folder. steps: after so many iterations nothing more
 * is looked at (0: as soon as they repeat; MT_ALL_STEPS: never). NULL: no memory. */
struct mt_run_watch *mt_run_watch_create(const char *folder, uint32_t steps);

/* Read what is new. 0; or a negative errno with why in `why`. */
int mt_run_watch_poll(struct mt_run_watch *watch, struct mt_run_state *state, char *why,
                      size_t size);

/* Fill in the figures of a run that has ended. context: bytes that a card has less from the begin.
 * Of one that fits or ran out of memory, write what was asked of each device, in the order of the
 * traces' names, into a file (mt_request_log_write); nothing where that is not known of one. */
void mt_run_watch_finish(struct mt_run_watch *watch, uint64_t context, struct mt_outcome *outcome,
                         int file);

void mt_run_watch_destroy(struct mt_run_watch *watch);

/*
 * Whether the iterations of a training repeat: then what comes is known. They do when PyTorch's
 * allocator hands out the same blocks at the same addresses again, in the same order; with it in
 * the same state the same requests have the same answers. Two iterations may take turns, as where a
 * loss lives on into the next one, and so may up to four.
 *
 * Iterations on a stream of their own are what PyTorch asks for before a CUDA graph is captured: of
 * these, some more have to repeat.
 */

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

/* Take an event into account that was replayed: 0 or -ENOMEM. A watch of zeros is new. is_beside:
 * it is of another stream than the default one. */
int mt_repeat_note(struct mt_repeat *repeat, struct mt_replay *replay, const struct mt_event *event,
                   bool is_beside);
void mt_repeat_clear(struct mt_repeat *repeat);

#endif
