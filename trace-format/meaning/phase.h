/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's phase: forward, backward, an optimizer step, or code outside these; and the
 * position of a moment in the sequence of phases.
 */
#ifndef MT_PHASE_H
#define MT_PHASE_H

#include "marks.h"
#include "serving.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* P(enumerator, name, label, in a sentence on a block). Names appear in JSON, tables, budgets and
 * rules, labels in reports. OUTSIDE (the program's own code: data, losses, logs) is a phase of its
 * own only before all others. */
/* clang-format off */
#define MT_PHASE_LIST(P)                                                                           \
    P(OUTSIDE, "outside", "start-up", "outside the model")                                         \
    P(FORWARD, "forward", "forward", "in forward")                                                 \
    P(BACKWARD, "backward", "backward", "in backward")                                             \
    P(STEP, "optimizer", "optimizer step", "in an optimizer step")
/* clang-format on */

enum mt_phase {
#define MT_PHASE_ENUM(id, ...) MT_PHASE_##id,
    MT_PHASE_LIST(MT_PHASE_ENUM)
#undef MT_PHASE_ENUM
        MT_PHASE_COUNT
};

extern const struct mt_phase_name {
    const char *name, *label, *where;
} mt_phase_names[MT_PHASE_COUNT];

/* All names, separated by blanks. */
extern const char *const mt_phase_choices;

/* Return the phase with this name or label, or with the name that OUTSIDE had before 0.1
 * ("startup"); MT_PHASE_COUNT if there is none. */
enum mt_phase mt_phase_find(const char *name, size_t size);

/* Counts of phases begun, to compare two moments. */
struct mt_when {
    uint32_t epoch; /* changes of phase so far */
    uint32_t run;   /* changes of `after`; also some entries into forward (mt_phases_call) */
    uint32_t forwards, backwards, steps;
    uint32_t calls;  /* entries into forward, also two in a row */
    uint32_t called; /* those that a module's call begins*/
    uint32_t caller; /* the stack that called the module when the run began; 0: unknown */
    uint8_t phase;   /* enum mt_phase */
    uint8_t after;   /* the last phase that was not OUTSIDE; OUTSIDE: none yet */
    bool is_evaluation;
    bool has_called;     /* a module's forward has begun */
    uint8_t makes_graph; /* a node was created or a tensor saved since the run began */
    uint8_t trained;     /* `after` when evaluation began */
    uint8_t serving;     /* enum mt_serving */
    uint8_t turn;        /* counts the beginnings of `serving`, modulo 256 */
};

/* Note what a server is doing; NONE in between ends and begins nothing. A step whose kind becomes
 * known only now remains the same step. */
static inline void mt_when_serve(struct mt_when *now, enum mt_serving serving)
{
    bool is_same =
        (now->serving == MT_SERVING_STEP && mt_serving_is_step(serving)) ||
        (serving == MT_SERVING_STEP && mt_serving_is_step((enum mt_serving)now->serving));
    if (now->serving == serving)
        return;
    now->serving = (uint8_t)serving;
    now->epoch++;
    now->run += serving != MT_SERVING_NONE;
    now->turn += serving != MT_SERVING_NONE && !is_same;
}

/* Note whether a framework's evaluation loop runs. The phases after it continue those before it. */
static inline void mt_when_evaluate(struct mt_when *now, bool is_evaluation)
{
    if (now->is_evaluation == is_evaluation)
        return;
    now->is_evaluation = (uint8_t)is_evaluation;
    now->epoch++;
    now->run++;
    now->phase = MT_PHASE_OUTSIDE;
    if (is_evaluation)
        now->trained = now->after;
    else
        now->after = now->trained;
}

/* Note that the program is now in a phase. */
static inline void mt_when_enter(struct mt_when *now, enum mt_phase phase)
{
    if (now->phase == phase)
        return;
    now->epoch++;
    now->phase = (uint8_t)phase;
    if (phase == MT_PHASE_OUTSIDE)
        return;
    now->calls += phase == MT_PHASE_FORWARD;
    now->run += now->after != phase;
    if (now->after == phase)
        return;
    now->after = (uint8_t)phase;
    now->forwards += phase == MT_PHASE_FORWARD;
    now->backwards += phase == MT_PHASE_BACKWARD;
    now->steps += phase == MT_PHASE_STEP;
}

/* Return the phase of a thread, by the marks of its Python stack, the marks of that stack's phase
 * (marks.h), and whether one of autograd's nodes runs on it. Autograd's threads have no Python
 * frames of their own: hooks and functions that they call are part of backward. */
static inline enum mt_phase mt_phase_of(uint32_t marks, uint32_t phase_marks, bool runs_node,
                                        bool is_autograds)
{
    if (phase_marks & MT_MARK_OPTIMIZER)
        return MT_PHASE_STEP;
    if (runs_node || is_autograds || marks & MT_MARK_BACKWARD)
        return MT_PHASE_BACKWARD;
    return phase_marks & MT_MARK_MODULE_CALL ? MT_PHASE_FORWARD : MT_PHASE_OUTSIDE;
}

/* Return whether a thread's name is one of autograd's threads, one per device, which run backward.
 */
static inline bool mt_is_name_of_autograds(const char *name)
{
    return !strncmp(name, "pt_autograd", 11);
}

#endif
