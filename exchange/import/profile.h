/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.profiler says besides memory: calls of Python (with_stack=True), nodes of backward,
 * and which line of forward a node comes from. A request lies in those that run in its thread at
 * its time.
 */
#ifndef MT_IMPORT_PROFILE_H
#define MT_IMPORT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_records;

enum mt_ran_kind { MT_RAN_CALL, MT_RAN_NODE };

struct mt_ran {
    int64_t begin, end; /* ns */
    uint32_t thread;
    uint32_t name;    /* text of the graph: "net.py(3): forward"; of a node: its own */
    uint32_t from;    /* line that called it; 0: not known */
    uint32_t parent;  /* place of what it runs in + 1; 0: nothing */
    uint32_t outer;   /* once known: the script's stack up to the line that called it */
    uint32_t forward; /* of a node: place of its link + 1; 0: none */
    uint8_t kind;     /* enum mt_ran_kind */
    bool has_outer;
};

/* From an operator of forward to its node. */
struct mt_call_link {
    int64_t id, time;
    uint32_t thread;
    bool is_end;
};

struct mt_profile {
    struct mt_ran *span;
    size_t n, spans_capacity;
    struct mt_call_link *link;
    size_t n_links, links_capacity;
    bool is_sorted, has_calls;
};

/* Of zeros: empty. 0 or -ENOMEM. */
int mt_profile_ran(struct mt_profile *profile, const struct mt_ran *span);
int mt_profile_link(struct mt_profile *profile, const struct mt_call_link *link);
void mt_profile_clear(struct mt_profile *profile);

/* The number of where a thread's request at that time comes from: after all spans were added. 0 or
 * a negative errno. */
int mt_profile_whence(struct mt_records *records, uint32_t thread, int64_t time, uint32_t *number);

#endif
