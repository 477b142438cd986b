/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of perfetto.c: the state of one process. */
#ifndef MT_PERFETTO_H
#define MT_PERFETTO_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/by-id.h"
#include "first-pass.h"
#include "perfetto-parts.h"

#include <jansson.h>
#include <stdint.h>

/* A block has its own slice if it is at least this fraction of its device's peak. */
#define MT_PERFETTO_LARGE 200u

/* Tracks of a kind, so that slices do not overlap; free tracks are reused. */
struct mt_perfetto_lanes {
    const char *name;
    uint64_t parent;
    uint64_t *lane; /* tracks that are free */
    size_t n_free, capacity;
    struct mt_address_map in_use; /* key -> track */
};

struct mt_perfetto_device {
    bool is_shown, of_cuda;
    uint64_t track, allocated, reserved, category[MT_CATEGORY_ROOM], oom; /* tracks; 0: not yet */
    uint64_t bytes[MT_CATEGORY_ROOM], total, last_reserved;
    uint64_t large; /* bytes of a block that is shown */
    struct mt_perfetto_lanes blocks;
};

struct mt_perfetto_process {
    struct mt_perfetto *to;
    const struct mt_export *export;
    const struct mt_pass *pass;
    uint64_t start_ns, pid, track; /* unix time of the recording's begin */
    struct mt_perfetto_device device[MT_DEVICES];
    struct mt_by_id threads; /* tracks, uint64_t; 0: not yet */
    struct mt_perfetto_lanes ranges;
    bool is_over; /* the sink accepts no more */
};

/* Return the track of a key, which is reserved until it is returned; 0 if none. */
void mt_perfetto_lanes_clear(struct mt_perfetto_lanes *lanes);

/* Write the events in a second pass. As mt_export_writer. */
int mt_perfetto_events(struct mt_perfetto_process *process, const char *path,
                       struct mt_export_error *error);

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

/* Join another tool's trace. 0, or a negative errno with error->text. */
int mt_perfetto_join(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                     struct mt_export_error *error);
int mt_perfetto_join_nsight(struct mt_perfetto *to, const char *path, uint64_t near_ns,
                            struct mt_export_error *error);

/* Traces of other tools, event by event. */

/* Receives an event in Chrome's trace format; its time is base_ns plus its "ts" in us. A nonzero
 * result stops the reader. */
typedef int mt_join_taker(void *data, const json_t *event, uint64_t base_ns);

/* Read the file twice: names first, then events. Return 0, the callback's result, or a negative
 * errno (-EINVAL: it is not such JSON). */
int mt_join_json(const char *path, mt_join_taker *learn, mt_join_taker *take, void *data);

#endif
