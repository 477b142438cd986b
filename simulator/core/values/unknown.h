/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a program asks for and that no kernel has computed. */
#ifndef SIM_UNKNOWN_H
#define SIM_UNKNOWN_H

#include "../base/base.h"

enum sim_unknown {
    SIM_ASKS_NOTHING,
    SIM_ASKS_SIZE,      /* of a result: nonzero, unique, ... */
    SIM_ASKS_CONDITION, /* yes or no, for a branch of the program */
    SIM_ASKS_NUMBER,    /* an integer, for whatever the program does with it */
    SIM_ASKS_REAL,      /* a real number, likewise */
};

/*
 * Note that the program asked for one. `what` is an enum sim_unknown, `name` the operator's. A
 * profiler that is loaded first may define it, to say where; it may not call CUDA.
 */
SIM_API void sim_unknown_value(int what, const char *name);

#endif
