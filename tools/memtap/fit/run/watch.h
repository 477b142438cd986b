/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traces of a run in progress: the memory used so far, and whether the run can still show more.
 */
#ifndef MT_FIT_WATCH_H
#define MT_FIT_WATCH_H

#include "analyzer/replay/replay.h"
#include "tools/memtap/fit/job/job.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_run_watch;

struct mt_run_state {
    size_t traces;
    size_t n_known;  /* of these, traces whose peak is known */
    bool is_full;    /* memory ran out */
    bool went_on;    /* and the program continued */
    bool found_none; /* the last request to CUDA for memory failed */
    uint64_t cuda;   /* the peak of bytes allocated by CUDA on a device */
};

/* Watch the present and future traces in a folder. steps: stop after this many iterations (0: once
 * they repeat; MT_ALL_STEPS: never). NULL: no memory. */
struct mt_run_watch *mt_run_watch_create(const char *folder, uint32_t steps);

/* Return whether a trace of a run that has ended lacks its end, and write why. */
bool mt_run_watch_lacks_end(const struct mt_run_watch *watch, char *why, size_t size);

/* Read new events. Return 0, or a negative errno with the reason in `why`. */
int mt_run_watch_poll(struct mt_run_watch *watch, struct mt_run_state *state, char *why,
                      size_t size);

/* Fill in the outcome of a run that has ended. context: bytes of a card that are used from the
 * start. If the run fits or ran out of memory, write each device's requests, in the order of the
 * traces' names, to a file (mt_request_log_write); write nothing if they are unknown for one. */
void mt_run_watch_finish(struct mt_run_watch *watch, uint64_t context, struct mt_outcome *outcome,
                         int file);

void mt_run_watch_destroy(struct mt_run_watch *watch);

/*
 * Whether training iterations repeat, so that the rest of the run is known. They repeat when
 * PyTorch's allocator returns the same blocks at the same addresses in the same order: in the same
 * state, the same requests get the same answers. Up to four iterations may alternate, as where a
 * loss lives into the next one.
 *
 * * * PyTorch recommends iterations on a separate stream before a CUDA graph is captured; more of
 * these have to repeat.
 */

struct mt_repeat {
    struct mt_repeat_span {
        uint64_t exact;    /* hash of each block allocated or freed, in order, with its address */
        uint64_t shape;    /* hash of the allocated sizes, in any order */
        uint64_t reserved; /* bytes allocated after the last event */
        uint64_t plain;    /* blocks allocated on the default stream */
    } *span;               /* numbered as the replay's spans */
    size_t n, capacity;
    size_t looked;     /* number of spans when iterations were last counted */
    uint32_t complete; /* training iterations up to then */
    bool repeats;
};

/* Add a replayed event. Return 0 or -ENOMEM. A zeroed struct is a new watch. is_beside: the event
 * is on another stream than the default one. */
int mt_repeat_note(struct mt_repeat *repeat, struct mt_replay *replay, const struct mt_event *event,
                   bool is_beside);
void mt_repeat_clear(struct mt_repeat *repeat);

#endif
