/* SPDX-License-Identifier: Apache-2.0 */
/* The operators whose kernels for CUDA are replaced. */
#ifndef SIM_REPLACED_H
#define SIM_REPLACED_H

#include "operators.h"

struct sim_replaced {
    const char *entry;
    sim_boxed *boxed; /* CUDA's kernel */
    unsigned arguments, results;
    uint64_t writes;  /* a bit for each argument */
    unsigned rules;   /* enum sim_rule */
    bool has_instead; /* another operator of the host computes the same (instead.h) */
    unsigned failures;
};

/* Replace the kernels of all operators that have one for CUDA and are not replaced yet: the
 * dispatcher calls `kernel` instead. The caller ensures that one thread does so. */
void sim_replace_kernels(sim_boxed *kernel);
/* Find a replaced operator by its entry. */
struct sim_replaced *sim_find_replaced(const char *entry);
/* Replace the kernel for sparse tensors, if there is one (coalesce.c). */
void sim_replace_coalesce(void);
/* The replacement for a kernel: the dispatcher calls it instead (values.c). */
void sim_replacement(void *functor, const struct sim_handle *handle, uint64_t keys,
                     struct sim_values *stack);

#endif
