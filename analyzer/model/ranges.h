/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases that the program names (NVTX, memtap.h): which are open where, as paths, and the most that
 * a device had allocated in each. A range belongs to the thread that opens it; autograd's threads
 * work inside those of the thread that trains.
 */
#ifndef MT_RANGES_H
#define MT_RANGES_H

#include "analyzer/support/address-map.h"
#include "analyzer/trace/definitions.h"
#include "heap.h"

/* A path of ranges, one in the other, known by its innermost. */
struct mt_range {
    uint32_t parent;       /* the path around it; always a smaller number. 0: none */
    uint32_t name, domain; /* string ids */
    uint64_t times;        /* that it was opened */
};

/* What a device had when most was allocated in a range or one within it. event 0: nothing was. */
struct mt_range_most {
    uint64_t bytes, time_ns, event;
};

struct mt_range_mark {
    uint32_t name, domain; /* string ids */
    uint64_t times, first_ns, last_ns;
};

struct mt_range_thread;

struct mt_ranges {
    struct mt_range *range; /* 1 .. n_ranges - 1; n_ranges 0: none was ever opened */
    size_t n_ranges, ranges_capacity;
    struct mt_address_map by_key, marks_by_key, started; /* started: number of a range -> thread */
    struct mt_range_thread *threads;
    size_t n_threads, threads_capacity;
    struct mt_range_mark *mark;
    size_t n_marks, marks_capacity;
    struct {
        struct mt_range_most *most; /* by path */
        size_t n, capacity;
    } device[MT_DEVICES];
};

/* Ranges of zeros are none. */
void mt_ranges_clear(struct mt_ranges *ranges);

/* Takes an event of any kind into account. around: the path that its thread works in besides what
 * it opens itself. 0 or -ENOMEM. */
int mt_ranges_event(struct mt_ranges *ranges, const struct mt_event *event, uint32_t around);

/* The path of what the thread has open, 0: nothing. */
uint32_t mt_ranges_of_thread(const struct mt_ranges *ranges, uint32_t thread);

/* So much is allocated on the device of that slot, in a path. 0 or -ENOMEM. */
int mt_ranges_see(struct mt_ranges *ranges, unsigned slot, uint32_t path,
                  const struct mt_range_most *now);

/* What was seen of the device of that slot does not count. */
void mt_ranges_forget(struct mt_ranges *ranges, unsigned slot);

/* All was seen: what was the most in a range is so in those around it too. */
void mt_ranges_finish(struct mt_ranges *ranges);

/* "step > forward"; a range of a domain as "domain: name". "no range" for 0. */
void mt_range_text(char *out, size_t size, const struct mt_definitions *definitions,
                   const struct mt_ranges *ranges, uint32_t path);

/* The same of the innermost range alone, and of a mark. */
void mt_range_name_text(char *out, size_t size, const struct mt_definitions *definitions,
                        uint32_t name, uint32_t domain);

#endif
