/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program is doing: forward, backward, an optimizer's step, or something outside of
 * these; and where in the run of these phases a moment lies.
 */
#ifndef MT_PHASE_H
#define MT_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum mt_phase {
    MT_PHASE_OUTSIDE, /* the program's own code: data, losses, logs */
    MT_PHASE_FORWARD,
    MT_PHASE_BACKWARD,
    MT_PHASE_STEP,
};

/* Counts of phases that have begun, so that two moments can be compared. */
struct mt_when {
    uint32_t epoch; /* changes of phase so far */
    uint32_t run;   /* those of `after`; before the first backward also entries into forward */
    uint32_t forwards, backwards, steps;
    uint32_t calls; /* entries into forward, also where nothing else came between two */
    uint8_t phase;  /* enum mt_phase */
    uint8_t after;  /* the last phase that was not OUTSIDE; OUTSIDE: none yet */
    uint8_t is_evaluation;
    uint8_t trained; /* what `after` was when evaluation began */
};

/* Takes into account whether a framework's loop of evaluation runs. What comes after it follows on
 * what was before. */
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

/* Takes into account that the program is now in a phase. */
static inline void mt_when_enter(struct mt_when *now, enum mt_phase phase)
{
    if (now->phase == phase)
        return;
    now->epoch++;
    now->phase = (uint8_t)phase;
    if (phase == MT_PHASE_OUTSIDE)
        return;
    now->calls += phase == MT_PHASE_FORWARD;
    now->run += now->after != phase || (phase == MT_PHASE_FORWARD && !now->backwards);
    if (now->after == phase)
        return;
    now->after = (uint8_t)phase;
    now->forwards += phase == MT_PHASE_FORWARD;
    now->backwards += phase == MT_PHASE_BACKWARD;
    now->steps += phase == MT_PHASE_STEP;
}

#endif
