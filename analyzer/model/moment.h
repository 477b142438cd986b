/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment of a trace that a report shows, and a device's totals at a moment.
 */
#ifndef MT_MOMENT_H
#define MT_MOMENT_H

#include <stdbool.h>

#include "trace-format/meaning/phase.h"

enum mt_moment_kind {
    MT_AT_PEAK,     /* each device's own: the first if there are several */
    MT_AT_END,      /* after the last event */
    MT_AT_OOM,      /* the last out-of-memory */
    MT_AT_RESERVED, /* each device's own: the first when PyTorch reserved most */
    MT_AT_TIME,     /* after the last event up to value ns */
    MT_AT_EVENT,    /* after event number value, from 1 */
    MT_AT_BEGIN, /* before the first event of iteration number value, from 1, on the device with the
                  * highest peak */
    MT_AT_STEP,  /* at the iteration's highest total */
    MT_AT_LAST,  /* the same of the last iteration */
    MT_AT_HOLDERS, /* at that of the last list of holders */
};

struct mt_moment {
    enum mt_moment_kind kind;
    uint64_t value;
};

/* What mt_moment_parse reads, as mt_unknown_text wants it. */
#define MT_MOMENT_CHOICES "peak end oom reserved last-turn holders 1.5s 20ms event:N begin:N step:N"

/* Read "peak", "end", "oom", "reserved", "last-turn", "holders", a time with its unit
 * (trace-format/settings/size.h), "event:N", "begin:N" or "step:N". 0, or -EINVAL for other text.
 */
int mt_moment_parse(const char *text, struct mt_moment *moment);

/* Return "peak", "end", "oom", "reserved", "time", "event", "begin", "step", "last-turn" or
 * "holders". */
const char *mt_moment_name(enum mt_moment_kind kind);

struct mt_totals {
    struct mt_when when;
    uint32_t range; /* the path of open ranges (ranges.h); 0: none */
    uint64_t event; /* number of the last event before, from 1; 0: none yet */
    uint64_t time_ns;
    uint64_t allocated;   /* bytes, after the event */
    uint64_t reserved;    /* by PyTorch; 0 on CUDA's level */
    uint64_t known_bytes; /* the sum of the known blocks */
    uint64_t cuda_bytes;  /* CUDA's allocations on the device */
};

/* Return whether a total is the highest so far. */
static inline bool mt_is_new_peak(const struct mt_totals *peak, uint64_t allocated)
{
    return !peak->event || allocated > peak->allocated;
}

#endif
