/* SPDX-License-Identifier: Apache-2.0 */
/* Small values: libcudasim-values.so computes them, and is loaded when PyTorch is used. */
#ifndef SIM_VALUES_H
#define SIM_VALUES_H

#include "../base/base.h"
#include "core/base/base.h"

/* Load it, unless CUDASIM_VALUES is 0; after new code was loaded, make it scan PyTorch's operators
 * again. Called before PyTorch uses a block of a device. Does nothing without PyTorch. */
SIM_API void sim_start_values(void);
/* Note that a library with kernels was loaded, which may define operators. */
SIM_API void sim_values_new_code(void);

/* Values that a program reads and that no kernel has computed. */

enum sim_unknown {
    SIM_UNKNOWN_NOTHING,
    SIM_UNKNOWN_SIZE,              /* of a result: nonzero, unique, ... */
    SIM_UNKNOWN_CONDITION,         /* a boolean, for a branch of the program */
    SIM_UNKNOWN_NUMBER,            /* an integer, for any use by the program */
    SIM_UNKNOWN_REAL,              /* a real number, likewise */
    SIM_UNKNOWN_WORKSPACE,         /* a convolution's workspace: none here, some on a card */
    SIM_UNKNOWN_FASTEST_WORKSPACE, /* the same, while PyTorch tries all algorithms */
    SIM_INSTALLED_WORKSPACE, /* a convolution's workspace, supplied by the cuDNN of the program's
                                PyTorch; `name` is its version, "91900"; noted once per process */
    SIM_NAMED_WORKSPACE, /* the same, supplied by the cuDNN that CUDASIM_CUDNN names, whose version
                            is, or may be, different from PyTorch's */
};

/*
 * Note that the program read such a value. `what` is an enum sim_unknown, `name` the operator. A
 * profiler that is loaded first may define this function to record the place; it must not call
 * CUDA.
 */
SIM_API void sim_unknown_value(int what, const char *name);

#endif
