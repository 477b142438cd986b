/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass over a trace: replays it with all evidence, and keeps the blocks that were live
 * at each device's peak. Their records go on gathering evidence until they are freed.
 */
#ifndef MT_REPLAY_H
#define MT_REPLAY_H

#include "cuda-level.h"
#include "definitions.h"
#include "survey.h"
#include "tracker.h"

/* Blocks of one device at one moment. */
struct mt_snapshot {
    struct mt_block **blocks;
    size_t n_blocks;
    uint64_t bytes;      /* theirs */
    uint64_t cuda_bytes; /* what CUDA had handed out on the device */
    uint64_t event;      /* the moment: the events up to this number have happened. 0: never */
    int of_cuda;         /* the blocks are CUDA's allocations, not PyTorch's */
};

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
    struct mt_definitions *definitions;
    struct mt_heap blocks; /* PyTorch's */
    struct mt_cuda_level cuda;
    struct mt_tracker tracker;
    struct mt_snapshot snapshot[MT_DEVICES];
    struct mt_oom ooms[MT_OOMS_KEPT]; /* the latest */
    uint64_t n_ooms;
    struct mt_oddities oddities;
    uint64_t unseen[MT_DEVICES]; /* bytes that were allocated before the recording began */
    uint64_t events;             /* the next fields are the pass's own */
    uint64_t expected[MT_DEVICES];
    uint8_t counted[MT_DEVICES];
};

/* Replays the trace up to its peaks in survey and on to its end. Returns as mt_scan does; to be
 * cleared in any case. */
int mt_replay(const char *path, const struct mt_survey *survey, struct mt_replay *replay,
              struct mt_trace_error *error);
void mt_replay_clear(struct mt_replay *replay);

/* The peak that is reported for a device: PyTorch's where it used the device, else CUDA's. */
const struct mt_peak *mt_survey_peak(const struct mt_survey *survey, unsigned slot, int *of_cuda);

#endif
