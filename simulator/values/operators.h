/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher's operators: their names, schemas and kernels. */
#ifndef SIM_OPERATORS_H
#define SIM_OPERATORS_H

#include "torch.h"

/* A node of the dispatcher's std::list. */
struct sim_listed {
    struct sim_listed *next, *previous;
    char entry[];
};

/* Return the first operator. NULL: there is none. */
const struct sim_listed *sim_first_operator(void);
const struct sim_listed *sim_next_operator(const struct sim_listed *node);
/* Return the operator's entry, or NULL. */
const char *sim_find_operator(const char *name, const char *overload);
static inline const char *sim_operator_name(const char *entry)
{
    return (const char *)sim_field(entry, 0);
}

/* Return the overload, the part of the name after the dot; "" if there is none. */
const char *sim_operator_overload(const char *entry);

/* The slots of the table: a kernel's functor, its boxed function, its unboxed function, and that
 * for symbolic sizes. */
enum { SIM_SLOT_HOST = 1, SIM_SLOT_CUDA = 2 };
static inline char *sim_kernel_slot(const char *entry, int slot)
{
    return (char *)(uintptr_t)entry + sim_layout.table + (size_t)slot * sim_layout.slot;
}

/* Make the dispatcher call this function from a slot of its table. */
void sim_put_kernel(char *slot, sim_boxed *kernel);

size_t sim_arguments(const char *entry);
size_t sim_results(const char *entry);
const char *sim_argument_name(const char *entry, size_t argument);
/* Return whether the operator writes to its argument. */
bool sim_writes(const char *entry, size_t argument);
/* Return whether a result shares memory with an argument that is not written: a view. */
bool sim_makes_view(const char *entry);

#endif
