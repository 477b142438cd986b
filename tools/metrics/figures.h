/* SPDX-License-Identifier: Apache-2.0 */
/* What memtap metrics tells of a trace: a few numbers, however long the trace is. */
#ifndef MT_METRICS_FIGURES_H
#define MT_METRICS_FIGURES_H

#include <stdbool.h>

#include "analyzer/findings/analysis.h"

#define MT_FIGURES_TEXT 256

/* Bytes by category; what the recording did not see being allocated has none. */
struct mt_by_category {
    uint64_t category[MT_CATEGORY_ROOM];
    uint64_t unseen;
};

/* Of one device; bytes. */
struct mt_device_figures {
    int device;   /* CUDA's index, MT_NO_DEVICE: unknown */
    bool of_cuda; /* PyTorch's allocator does not use it: bytes are CUDA's, none are reserved */
    bool has_peak_parts; /* at_peak is known */
    struct mt_totals now, peak;
    uint64_t most_reserved;
    struct mt_by_category at_now, at_peak;
    uint64_t phase_peak[4]; /* by enum mt_phase */
    uint32_t iterations;
    uint64_t growth;         /* that each iteration leaves; 0: none, or unknown */
    struct mt_sample sample; /* time 0: the card was not sampled */
};

struct mt_figures {
    const char *path; /* the caller's */
    char rank[MT_FIGURES_TEXT], host[MT_FIGURES_TEXT], pid[MT_FIGURES_TEXT],
        command[MT_FIGURES_TEXT]; /* "": unknown */
    struct mt_ended ended;
    uint64_t events, lost, ooms;
    uint64_t start_ns;  /* since 1970; 0: unknown */
    uint64_t length_ns; /* of the recording */
    struct mt_device_figures
        *devices; /* on which memory was ever allocated; mt_figures_clear frees them */
    size_t n_devices;
};

#endif
