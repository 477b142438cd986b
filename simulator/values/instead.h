/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that exist only for CUDA, and what computes the same on the host: usually another
 * operator. */
#ifndef SIM_INSTEAD_H
#define SIM_INSTEAD_H

#include "replaced.h"

enum { SIM_INSTEAD_ARGUMENTS = 16 };

/* A call of the host's operator. */
struct sim_instead {
    const char *entry;
    struct sim_value arguments[SIM_INSTEAD_ARGUMENTS]; /* the device's tensors; borrowed */
    size_t n;
    size_t results; /* this many of the host's first results are also results of CUDA's operator */
    void *list;     /* a list among the arguments that was created for the call, or NULL; owned */
    /* In place of the host's operator, which has no kernel: replaces arguments by so many results.
     * false: it cannot. NULL: there is a kernel. */
    bool (*function)(struct sim_values *stack);
};

/* Return whether another operator of the host computes the same. */
bool sim_has_instead(const char *entry);
/* Return the storage of an argument that CUDA's operator returns as it is; NULL: there is none. */
const char *sim_returned_storage(const struct sim_replaced *op, const struct sim_value *arguments);
/* Translate a call of `op`. Return false if this release or this call has no equivalent. The
 * caller ends the translation in either case. */
bool sim_begin_instead(const struct sim_replaced *op, const struct sim_value *arguments,
                       struct sim_instead *instead);
void sim_end_instead(struct sim_instead *instead);

#endif
