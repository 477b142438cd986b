/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a trace with all evidence, in one pass. The heaps remember what was live at each device's
 * peak; the records of those blocks go on gathering evidence until they are freed.
 */
#ifndef MT_REPLAY_H
#define MT_REPLAY_H

#include "cuda-level.h"
#include "definitions.h"
#include "peak.h"
#include "survey.h"
#include "tracker.h"

struct mt_oom {
    uint64_t time_ns, wanted, allocated, reserved;
    uint32_t stack;
    int16_t device;
};

#define MT_OOMS_KEPT 8u

/* What did not fit together. None of it is expected in a trace that lost nothing. */
struct mt_oddities {
    uint64_t replaced;   /* allocations at an address that was live */
    uint64_t unknown;    /* frees of what was not live */
    uint64_t wrong_size; /* frees with another size than the allocation's */
    uint64_t drift;      /* events after which PyTorch's own total moved by something else */
};

struct mt_replay {
    struct mt_survey survey;
    struct mt_definitions *definitions;
    struct mt_heap blocks; /* PyTorch's */
    struct mt_cuda_level cuda;
    struct mt_tracker tracker;
    struct mt_peak peak[MT_DEVICES];  /* PyTorch's; blocks remembers them */
    struct mt_oom ooms[MT_OOMS_KEPT]; /* the latest */
    uint64_t n_ooms;
    struct mt_oddities oddities;
    uint64_t unseen[MT_DEVICES]; /* bytes that were allocated before the recording began */
    /* the pass's own */
    uint64_t events;               /* so far */
    uint64_t expected[MT_DEVICES]; /* PyTorch's total after the last event */
    uint8_t counted[MT_DEVICES];
};

/* Replays a whole trace. Returns as mt_scan does; to be cleared in any case. */
int mt_replay(const char *path, struct mt_replay *replay, struct mt_trace_error *error);
void mt_replay_clear(struct mt_replay *replay);

#endif
