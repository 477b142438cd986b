/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that the program names (NVTX, memtap.h): the open ones as paths, and the highest total of
 * a device in each. A range belongs to the thread that opens it; autograd's threads work inside the
 * training thread's ranges.
 */
#ifndef MT_RANGES_H
#define MT_RANGES_H

#include "analyzer/support/address-map.h"
#include "analyzer/support/by-id.h"
#include "analyzer/trace/definitions.h"
#include "heap.h"

/* A path of nested ranges, identified by its innermost. */
struct mt_range {
    uint32_t parent;       /* the outer path; always a smaller number. 0: none */
    uint32_t name, domain; /* string ids */
    uint64_t times;        /* it was opened */
};

/* A device's highest total in a range or inside it. event 0: none. */
struct mt_range_most {
    uint64_t bytes, time_ns, event;
};

struct mt_range_mark {
    uint32_t name, domain; /* string ids */
    uint64_t times, first_ns, last_ns;
};

struct mt_ranges {
    struct mt_range *range; /* 1 .. n_ranges - 1; n_ranges 0: none was ever opened */
    size_t n_ranges, ranges_capacity;
    struct mt_address_map by_key, marks_by_key, started; /* started: number of a range -> thread */
    struct mt_by_id threads;                             /* struct mt_range_thread */
    struct mt_range_mark *mark;
    size_t n_marks, marks_capacity;
    struct {
        struct mt_range_most *most; /* by path */
        size_t n, capacity;
    } device[MT_DEVICES];
};

/* Clear ranges; those of zeros are empty. */
void mt_ranges_clear(struct mt_ranges *ranges);

/* Return whether NVIDIA's libraries open ranges of this domain, a string id, on their own. These
 * are not the program's phases, and are left out. */
bool mt_range_is_of_library(const struct mt_definitions *definitions, uint64_t domain);

/* Handle an event of any kind. around: the outer path of its thread, besides its own open ranges. 0
 * or -ENOMEM. */
int mt_ranges_event(struct mt_ranges *ranges, const struct mt_definitions *definitions,
                    const struct mt_event *event, uint32_t around);

/* Return the path of the thread's open ranges, 0: none. */
uint32_t mt_ranges_of_thread(const struct mt_ranges *ranges, uint32_t thread);

/* Note a total of the slot's device in a path. 0 or -ENOMEM. */
int mt_ranges_note(struct mt_ranges *ranges, unsigned slot, uint32_t path,
                   const struct mt_range_most *now);

/* Forget all totals of the slot's device. */
void mt_ranges_forget(struct mt_ranges *ranges, unsigned slot);

/* Finish at the end: the highest total of a range also counts for its outer ranges. */
void mt_ranges_finish(struct mt_ranges *ranges);

/* Return whether a range is the capture of a CUDA graph, by the name that the recording gives it
 * (preload/torch/hooks-pools.c). */
bool mt_range_is_graph(const struct mt_definitions *definitions, const struct mt_range *range);

/* Return whether a path has such a range. */
bool mt_range_is_of_graph(const struct mt_definitions *definitions, const struct mt_ranges *ranges,
                          uint32_t path);

/* Write "step > forward"; a range of a domain as "domain: name". "no range" for 0. */
void mt_range_text(char *out, size_t size, const struct mt_definitions *definitions,
                   const struct mt_ranges *ranges, uint32_t path);

/* Write the innermost range alone, or a mark. */
void mt_range_name_text(char *out, size_t size, const struct mt_definitions *definitions,
                        uint32_t name, uint32_t domain);

#endif
