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

/* Whether a visit does what the one before it did, at the same line. */
enum mt_again {
    MT_AGAIN_NOT,
    MT_AGAIN_PERHAPS, /* an operator or a module may do it several times in one call */
    MT_AGAIN_SURELY,  /* unless the line does something several times */
    MT_AGAIN_OTHER,   /* the same code with another size: several of these may be one turn */
};

struct mt_visit {
    uint64_t event; /* its first allocation, */
    uint64_t bytes; /* and the sum of its allocations */
    uint32_t node;  /* the stack of the line */
    uint32_t thread;
    uint32_t n;      /* allocations */
    uint8_t again;   /* enum mt_again */
    uint8_t others;  /* as below, since the visit before; 255: or more */
    bool is_rest;    /* goes on with the visit before, of the same thread */
    bool in_forward; /* a module was called */
};

/* The newest visit of a thread. */
struct mt_visitor {
    uint32_t thread, run;
    uint32_t node;   /* plus 1; 0: none */
    uint32_t calls;  /* of its first allocation: mt_when.calls, */
    uint64_t first;  /* what it has in common with others of that code, */
    uint64_t size;   /* and its bytes; */
    uint64_t n;      /* allocations so far, */
    uint64_t last;   /* and the last one's number, others not counted */
    bool was_single; /* the visit before had one allocation, too */
};

#define MT_VISITORS 64u
#define MT_VISITS_MOST (1u << 17) /* 6 MiB */

struct mt_visits {
    struct mt_visit *visit;
    size_t n, capacity;
    uint32_t parts; /* so many began, and so many turns that the program names began and ended */
    struct mt_visitor visitors[MT_VISITORS];
    uint32_t last_thread;     /* of the last visit */
    uint64_t others, counted; /* events so far that come by the clock, by what is cached, or by
                               * memtap, not by what the program does; those before the last
                               * visit */
    struct mt_visit_code {
        uint32_t node; /* plus 1; 0: not known yet */
        bool in_module;
        uint64_t code; /* a hash of its lines, whichever object they are at work for */
    } *code_of;        /* by stack id */
    size_t n_codes;
    bool is_off;  /* there were too many, or they are not needed */
    bool gave_up; /* there were too many */
};

/* Clear; one of zeros is empty. It stays off, and `parts` stays. */
void mt_visits_clear(struct mt_visits *visits);

/* Note an allocation that does not just go on with the last visit. 0 or -ENOMEM. */
int mt_visits_note_other(struct mt_visits *visits, const struct mt_definitions *definitions,
                         const struct mt_event *event, const struct mt_when *now, uint64_t number);

/* Note an allocation of an event, outside of backward and steps: lines before these show a loop.
 * phase: the thread's; others may be elsewhere. 0 or -ENOMEM. */
static inline int mt_visits_note(struct mt_visits *visits, const struct mt_definitions *definitions,
                                 const struct mt_event *event, const struct mt_when *now,
                                 uint8_t phase, uint64_t number)
{
    struct mt_visitor *visitor = &visits->visitors[event->thread % MT_VISITORS];
    if (visits->is_off || !event->stack || phase == MT_PHASE_BACKWARD || phase == MT_PHASE_STEP)
        return 0;
    if (event->stack >= visits->n_codes || visitor->thread != event->thread ||
        visits->last_thread != event->thread || visitor->run != now->run)
        return mt_visits_note_other(visits, definitions, event, now, number);
    const struct mt_visit_code *code = &visits->code_of[event->stack];
    if (code->node != visitor->node || code->code == visitor->first)
        return mt_visits_note_other(visits, definitions, event, now, number);
    struct mt_visit *last = &visits->visit[visits->n - 1];
    visitor->n++;
    visitor->last = number - visits->others;
    last->bytes += event->size;
    last->n++;
    last->in_forward |= code->in_module;
    return 0;
}

#endif
