/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of memtap metrics: a few numbers per trace, whatever its length. */
#ifndef MT_METRICS_FIGURES_H
#define MT_METRICS_FIGURES_H

#include <stdbool.h>
#include <stdio.h>

#include "analyzer/findings/analysis.h"
#include "tools/memtap/input/followed.h"

#define MT_FIGURES_TEXT 256

/* Bytes by category. Memory allocated before the recording has none. */
struct mt_by_category {
    uint64_t category[MT_CATEGORY_ROOM];
    uint64_t unseen;
};

/* Of one device; bytes. */
struct mt_device_figures {
    int device;   /* CUDA's index, MT_NO_DEVICE: unknown */
    bool of_cuda; /* not used by PyTorch's allocator: bytes are CUDA's, nothing is reserved */
    bool has_peak_parts; /* at_peak is known */
    struct mt_totals now, peak;
    uint64_t most_reserved;
    struct mt_by_category at_now, at_peak;
    uint64_t phase_peak[MT_PHASE_COUNT];
    uint32_t iterations;
    uint64_t growth;         /* growth per iteration; 0: none, or unknown */
    struct mt_sample sample; /* time 0: not sampled */
};

struct mt_figures {
    const char *path; /* the caller's */
    char rank[MT_FIGURES_TEXT], host[MT_FIGURES_TEXT], pid[MT_FIGURES_TEXT],
        command[MT_FIGURES_TEXT]; /* "": unknown */
    struct mt_ended ended;
    uint64_t events, lost, ooms;
    uint64_t start_ns;                 /* since 1970; 0: unknown */
    uint64_t length_ns;                /* of the recording */
    struct mt_device_figures *devices; /* devices with allocations; freed by mt_figures_clear */
    size_t n_devices;
};

/*
 * Figures of traces as OpenMetrics text, version 1.0, using types that node_exporter's textfile
 * collector also reads.
 */

/* Write all families and the end marker. Check ferror(out) for errors. */
void mt_openmetrics_write(FILE *out, const struct mt_figures *figures, size_t n);

/* Collect a trace's figures. Call mt_figures_clear in any case. */

/* Read the figures of a trace as it is now, in two passes (its end, its peak), equal to those of
 * memtap report. Return 0, also if the trace is valid only up to *fault, or a negative errno with
 * *fault filled (empty text: out of memory). */
int mt_figures_read(struct mt_figures *figures, const char *path, const struct mt_user_rules *rules,
                    struct mt_trace_error *fault);

/* Read the figures of a trace that is followed, after the last event read. The categories at the
 * peak are unknown until it has ended. Return 0 or -ENOMEM. */
int mt_figures_follow(struct mt_figures *figures, struct mt_followed *trace);

void mt_figures_clear(struct mt_figures *figures);

#endif
