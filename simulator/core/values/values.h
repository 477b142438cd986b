/* SPDX-License-Identifier: Apache-2.0 */
/* Small values: libcudasim-values.so computes them, and is loaded when PyTorch is used. */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H

#include "../base/base.h"
#include "core/base/base.h"

/* Load it, unless CUDASIM_VALUES is 0; after new code was loaded, make it scan PyTorch's operators
 * again. Called before PyTorch uses a block of a device. Does nothing without PyTorch. */
SIM_API void sim_start_values(void);
/* Note that a library with kernels was loaded: it may define operators. */
SIM_API void sim_values_new_code(void);

/* Values that a program reads and that no kernel has computed. */

enum sim_unknown {
    SIM_UNKNOWN_NOTHING,
    SIM_UNKNOWN_SIZE,              /* of a result: nonzero, unique, ... */
    SIM_UNKNOWN_CONDITION,         /* yes or no, for a branch of the program */
    SIM_UNKNOWN_NUMBER,            /* an integer, for whatever the program does with it */
    SIM_UNKNOWN_REAL,              /* a real number, likewise */
    SIM_UNKNOWN_WORKSPACE,         /* of a convolution: none here, some on a card */
    SIM_UNKNOWN_FASTEST_WORKSPACE, /* the same, while PyTorch tries all algorithms */
    SIM_INSTALLED_WORKSPACE,       /* of a convolution: the cuDNN of the program's PyTorch answers;
                                      `name` is its version, "91900"; noted once a process */
    SIM_NAMED_WORKSPACE,           /* the same by one that CUDASIM_CUDNN names, of a version that is
                                      another than PyTorch's, or may be */
};

/*
 * Note that the program read one. `what` is an enum sim_unknown, `name` the operator's. A profiler
 * that is loaded first may define this to record the place; it must not call CUDA.
 */
SIM_API void sim_unknown_value(int what, const char *name);

#endif
