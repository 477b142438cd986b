/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program's own lines do, one after the other: a visit is a run of allocations from one
 * line of the program or of a library, outside the modules that it calls. The program's loops
 * follow from these (turns.h). Memory grows with visits: past a limit they are dropped.
 */
#ifndef MT_VISITS_H
#define MT_VISITS_H

#include "analyzer/model/heap.h"
#include "analyzer/model/spans.h"
#include "analyzer/trace/definitions.h"

struct mt_visit {
    uint64_t event;   /* its first allocation, */
    uint64_t bytes;   /* the sum of its allocations, */
    uint64_t largest; /* and the largest of them */
    uint32_t node;    /* the stack of the line */
    uint32_t thread;
    bool is_again;   /* the line does the same again, perhaps in the next turn of a loop */
    bool is_rest;    /* goes on with the visit before, of the same thread */
    bool in_forward; /* a module was called */
};

/* A device's totals while a visit lasts and the phase does not change. */
struct mt_visit_level {
    uint32_t visit;                  /* visits and boundaries until then */
    uint32_t run;                    /* mt_when.run */
    uint64_t event, time_ns, before; /* as in mt_span */
    uint64_t least, most, left;
    uint64_t most_event, most_time_ns, most_reserved;
};

struct mt_visit_levels {
    struct mt_visit_level *level;
    size_t n, capacity;
    uint64_t last; /* the device's last event */
};

/* The newest visit of a thread. */
struct mt_visitor {
    uint32_t thread, node, run;
    uint64_t first;  /* of its first allocation: what it has in common with others of that code, */
    uint64_t size;   /* and its bytes; */
    uint64_t n;      /* allocations so far */
    bool was_single; /* the visit before had one allocation, too */
};

#define MT_VISITORS 64u
#define MT_VISITS_MOST (1u << 17) /* and as many levels of all devices: some 16 MiB */

struct mt_visits {
    struct mt_visit *visit;
    size_t n, capacity;
    struct mt_visit_levels levels[MT_DEVICES];
    size_t n_levels;     /* of all devices */
    uint32_t boundaries; /* of turns that the program names */
    struct mt_visitor visitors[MT_VISITORS];
    struct mt_visit_code {
        uint32_t node; /* plus 1; 0: not known yet */
        uint64_t code; /* a hash of its lines, whichever object they are at work for */
    } *code_of;        /* by stack id */
    size_t n_codes;
    bool is_off;  /* there were too many, or nobody wants them */
    bool gave_up; /* there were too many */
};

/* Clear; one of zeros is empty. It stays off. */
void mt_visits_clear(struct mt_visits *visits);
void mt_visits_clear_levels(struct mt_visits *visits, unsigned slot);

/* Note an allocation of an event. 0 or -ENOMEM. */
int mt_visits_note(struct mt_visits *visits, const struct mt_definitions *definitions,
                   const struct mt_event *event, const struct mt_when *now, uint64_t number);

/* Note a device's totals after an event. 0 or -ENOMEM. */
int mt_visits_begin_level(struct mt_visits *visits, struct mt_visit_levels *levels,
                          const struct mt_visit_level *level);
static inline int mt_visits_note_level(struct mt_visits *visits, unsigned slot, uint32_t run,
                                       uint64_t event, uint64_t time_ns, uint64_t allocated,
                                       uint64_t reserved)
{
    struct mt_visit_levels *levels = &visits->levels[slot];
    struct mt_visit_level *last = levels->n ? &levels->level[levels->n - 1] : NULL;
    uint32_t visit = (uint32_t)visits->n + visits->boundaries;
    if (visits->is_off)
        return 0;
    if (!last || last->visit != visit || last->run != run)
        return mt_visits_begin_level(visits, levels,
                                     &(struct mt_visit_level){.visit = visit,
                                                              .run = run,
                                                              .event = event,
                                                              .time_ns = time_ns,
                                                              .least = allocated,
                                                              .most = allocated,
                                                              .left = allocated,
                                                              .most_event = event,
                                                              .most_time_ns = time_ns,
                                                              .most_reserved = reserved});
    levels->last = event;
    last->left = allocated;
    if (allocated < last->least)
        last->least = allocated;
    if (allocated > last->most) {
        last->most = allocated;
        last->most_event = event;
        last->most_time_ns = time_ns;
        last->most_reserved = reserved;
    }
    return 0;
}

#endif
