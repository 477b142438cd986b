/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follow a program's phases event by event: for each thread, the nested nodes of autograd that run,
 * its optimizer step, and the phase that its Python stack shows. The library follows them while it
 * records (preload/selection/), the analyzer when it reads (analyzer/classify/tracker.h).
 */
#ifndef MT_FOLLOW_PHASES_H
#define MT_FOLLOW_PHASES_H

#include "phase.h"
#include "trace-format/model.h"

struct mt_running_node {
    uint64_t node;
    uint32_t name, forward_stack; /* for the analyzer */
    uint32_t begun;               /* for the library: where it begins in the window */
    bool is_accumulator;
    bool had_hook; /* for the analyzer: Python ran in it */
};

/* A zeroed thread is new. */
struct mt_thread_phase {
    bool is_known;        /* it has had an event */
    bool is_autograds;    /* one of autograd's threads (one per device), which run backward */
    uint8_t phase;        /* by the last event's stack */
    uint8_t serving;      /* enum mt_serving, by the last event's stack; for the analyzer */
    uint32_t stack;       /* the last event's*/
    uint32_t python;      /* its part from the innermost Python frame on; 0: none */
    uint32_t marks;       /* of the Python part (marks.h)*/
    uint32_t phase_marks; /* of the innermost frame that begins a phase */
    uint32_t caller;      /* the stack that called the outermost module; 0: none */
    uint32_t step;        /* 0: not in a step */
    uint32_t step_depth;  /* running nodes when the step began */
    uint32_t n_nodes, n_stacked, capacity; /* running nodes, now and at the last event */
    struct mt_running_node *nodes;
};

struct mt_phases {
    struct mt_when now;
    uint32_t leader; /* the thread of the training loop: the last in forward or a step */
    uint32_t server; /* the last thread that did a server's work */
    uint32_t steps_begun, steps_ended;
    struct {
        uint32_t calls, runs; /* module calls since the forward began, and the runs they began */
        uint32_t least;       /* the fewest calls before a backward so far; 0: none yet */
        uint32_t trains;      /* the caller of the last one */
    } forward;
};

/* The runs of one forward that are distinguished by their callers, at most. */
#define MT_FORWARD_RUNS 1024u

/* Return whether the thread's stack or running nodes differ from those at its last event. */
static inline bool mt_phases_is_new(const struct mt_thread_phase *thread,
                                    const struct mt_event *event)
{
    return thread->stack != event->stack || thread->n_stacked != thread->n_nodes ||
           !thread->is_known;
}

/* Update the thread's step and phase after its stack or its nodes have changed. */
void mt_phases_update(struct mt_phases *phases, struct mt_thread_phase *thread);

/* Note a server's work. Its other threads (outputs, logs) do not end that work. */
static inline void mt_phases_serve(struct mt_phases *phases, const struct mt_thread_phase *thread,
                                   uint32_t number)
{
    if (thread->serving)
        phases->server = number;
    if (thread->python && number == phases->server)
        mt_when_serve(&phases->now, (enum mt_serving)thread->serving);
}

/* Note that a forward begins. caller is the caller of a module, or 0. Until the first backward each
 * forward is a run of its own. After that a forward may not belong to an iteration, such as a
 * program's own evaluation: one with a different caller, and each one beyond the number that a
 * backward has followed. */
static inline void mt_phases_call(struct mt_phases *phases, uint32_t caller)
{
    struct mt_when *now = &phases->now;
    bool goes_on = now->after == MT_PHASE_FORWARD;
    if (!goes_on)
        phases->forward.calls = phases->forward.runs = 0;
    bool is_other = caller && caller != now->caller,
         may_begin = phases->forward.runs < MT_FORWARD_RUNS
                         ? is_other || (caller && phases->forward.calls >= phases->forward.least)
                         : is_other && caller == phases->forward.trains,
         begins = goes_on && (!now->backwards || may_begin);
    now->run += begins;
    phases->forward.runs += begins;
    if (begins || !goes_on) {
        now->caller = caller;
        now->makes_graph = false;
    }
    now->called += caller != 0;
    phases->forward.calls += caller != 0;
}

/* Note that backward follows a forward. */
static inline void mt_phases_go_back(struct mt_phases *phases)
{
    uint32_t calls = phases->forward.calls;
    if (phases->now.after != MT_PHASE_FORWARD || !calls)
        return;
    if (!phases->forward.least || calls < phases->forward.least)
        phases->forward.least = calls;
    phases->forward.trains = phases->now.caller;
}

/* Follow an event of an updated thread. A node created outside modules also means forward. Threads
 * other than the training thread (data loaders) do not change the program's phase by working
 * outside. */
static inline void mt_phases_follow(struct mt_phases *phases, const struct mt_thread_phase *thread,
                                    const struct mt_event *event)
{
    enum mt_phase phase = (enum mt_phase)thread->phase;
    if (thread->serving != phases->now.serving)
        mt_phases_serve(phases, thread, event->thread);
    bool makes_graph = event->kind == MT_NODE_NEW || event->kind == MT_SAVED;
    if (phase == MT_PHASE_OUTSIDE && makes_graph)
        phase = MT_PHASE_FORWARD;
    phases->now.has_called |= thread->phase == MT_PHASE_FORWARD;
    if (phase == MT_PHASE_FORWARD || phase == MT_PHASE_STEP)
        phases->leader = event->thread;
    if (phase == MT_PHASE_STEP && thread->n_nodes)
        phase = MT_PHASE_BACKWARD; /* in a hook: backward goes on */
    if (phase == MT_PHASE_OUTSIDE && (!thread->python || event->thread != phases->leader))
        return;
    if (thread->python)
        mt_when_evaluate(&phases->now, (thread->marks & MT_MARK_EVALUATION) != 0);
    if (phase == MT_PHASE_FORWARD && phases->now.phase != phase)
        mt_phases_call(phases, thread->phase == phase ? thread->caller : 0);
    else if (phase == MT_PHASE_BACKWARD && phases->now.phase != phase)
        mt_phases_go_back(phases);
    mt_when_enter(&phases->now, phase);
    phases->now.makes_graph |= makes_graph;
}

/* Begin a node inside the thread's others; nodes beyond the limit are left out. Return 0 or
 * -ENOMEM. */
int mt_phases_begin_node(struct mt_thread_phase *thread, const struct mt_running_node *node);

/* Return the thread's innermost running node at this address, or NULL. */
struct mt_running_node *mt_phases_node(const struct mt_thread_phase *thread, uint64_t node);

/* End the node at an address and the nodes inside it whose ends are missing. An optimizer that ran
 * in one of its hooks has ended too. */
void mt_phases_end_node(struct mt_phases *phases, struct mt_thread_phase *thread, uint64_t node);

/* End the thread's step, if it is in one. */
void mt_phases_end_step(struct mt_phases *phases, struct mt_thread_phase *thread);

/* Return whether the program's phase, its steps or the training thread differ. */
static inline bool mt_phases_differ(const struct mt_phases *a, const struct mt_phases *b)
{
    return a->now.epoch != b->now.epoch || a->now.run != b->now.run || a->leader != b->leader ||
           a->steps_begun != b->steps_begun || a->steps_ended != b->steps_ended;
}

#endif
