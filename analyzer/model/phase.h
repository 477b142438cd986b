/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's phase: forward, backward, an optimizer step, or code outside these; and the place
 * of a moment in the run of these phases.
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

/* Counts of begun phases, to compare two moments. */
struct mt_when {
    uint32_t epoch; /* changes of phase so far */
    uint32_t run;   /* changes of `after`; before the first backward also entries into forward */
    uint32_t forwards, backwards, steps;
    uint32_t calls; /* entries into forward, also two in a row */
    uint8_t phase;  /* enum mt_phase */
    uint8_t after;  /* the last phase that was not OUTSIDE; OUTSIDE: none yet */
    uint8_t is_evaluation;
    uint8_t trained; /* `after` when evaluation began */
};

/* Note whether a framework's evaluation loop runs. The phases after it continue the ones before
 * it. */
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
    now->run += now->after != phase || (phase == MT_PHASE_FORWARD && !now->backwards);
    if (now->after == phase)
        return;
    now->after = (uint8_t)phase;
    now->forwards += phase == MT_PHASE_FORWARD;
    now->backwards += phase == MT_PHASE_BACKWARD;
    now->steps += phase == MT_PHASE_STEP;
}

#endif
