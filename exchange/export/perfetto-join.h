/* SPDX-License-Identifier: Apache-2.0 */
/* Join another tool's trace with memtap's. */
#ifndef MT_PERFETTO_JOIN_H
#define MT_PERFETTO_JOIN_H

#include "export.h"
#include "perfetto-packets.h"

#include <jansson.h>
#include <stdint.h>

/* Return whether a time is within 30 days of near_ns, when the run was recorded: no run is
 * longer. */
static inline bool mt_perfetto_is_near(uint64_t near_ns, uint64_t time_ns)
{
    uint64_t far = UINT64_C(30) * 24 * 3600 * 1000000000;
    return near_ns && time_ns + far >= near_ns && time_ns <= near_ns + far;
}

static inline const char *mt_perfetto_why_far(uint64_t near_ns)
{
    return near_ns ? "its times are not near those of the trace; give a recording of the same run"
                   : "cannot be joined: the trace has no start time";
}

/* 0, or a negative errno with error->text. */
int mt_perfetto_join(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                     struct mt_export_error *error);
int mt_perfetto_join_nsight(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                            struct mt_export_error *error);

/* Receives an event in Chrome's trace format; its time is base_ns plus its "ts" in us. A nonzero
 * result stops the reader. */
typedef int mt_join_taker(void *data, const json_t *event, uint64_t base_ns);

/* Read the file twice: names first, then events. Return 0, the callback's result, or a negative
 * errno (-EINVAL: it is not such JSON). */
int mt_join_json(const char *path, mt_join_taker *learn, mt_join_taker *take, void *data);

#endif
