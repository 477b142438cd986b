/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging elements of a sparse tensor that have equal indices (aten::_coalesce). The number that
 * remains depends on the indices. The kernel is registered for sparse tensors, which have no
 * storage of their own, so it is replaced separately from the others.
 */
#include <string.h>

#include "core/memory/written.h"
#include "core/values/known.h"
#include "core/values/values.h"
#include "operators.h"
#include "replaced.h"
#include "small.h"

enum { FIRST_SLOT = 3, LAST_SLOT = 60 }; /* sparse tensors' slots are among these */

static sim_boxed *replaced;

/* --- the host's kernels --------------------------------------------------------------------- */

/* Call the host's kernel of an operator on n arguments, which it consumes. The results are on the
 * stack, which the caller frees. Return false if the call fails. */
static bool call(const char *name, struct sim_values *stack, const struct sim_value *arguments,
                 size_t n)
{
    const char *entry = sim_find_operator(name, ""), *slot;
    struct sim_handle handle = {(char *)(uintptr_t)entry};

    if (!entry || !sim_torch_stack(stack, 8))
        return false;
    memcpy(stack->begin, arguments, n * sizeof(*arguments));
    stack->end = stack->begin + n;
    slot = sim_kernel_slot(entry, SIM_SLOT_HOST);
    return sim_field(slot, 8) && sim_torch_call((sim_boxed *)(uintptr_t)sim_field(slot, 8),
                                                sim_field(slot, 0), &handle, 0, stack);
}

/* Make a tensor of the host with the same shape and, unless it is to be 0, the same elements. */
static void *copy_of(const void *tensor, bool zero)
{
    void *made = sim_torch_tensor(sim_sizes(tensor), sim_strides(tensor), sim_dimensions(tensor),
                                  sim_dtype(tensor));

    if (made && zero)
        memset(sim_elements(made), 0, sim_span(tensor));
    else if (made)
        memcpy(sim_elements(made), sim_elements(tensor), sim_span(tensor));
    return made;
}

/* --- the operator --------------------------------------------------------------------------- */

static bool is_computed(const void *tensor, size_t limit)
{
    return sim_element(tensor) && sim_storage(tensor) && !sim_is_wide(0, tensor) &&
           sim_bytes(tensor) <= limit && sim_is_settled(sim_known(sim_storage(tensor)));
}

/* Store the elements of the result, if there are as many as were reported. */
static void settle(void *device, const void *host)
{
    if (sim_bytes(device) != sim_bytes(host) || sim_span(device) != sim_bytes(host) ||
        sim_span(host) != sim_bytes(host))
        return;
    sim_mark_written(sim_elements(device), sim_bytes(host));
    memcpy(sim_elements(device), sim_elements(host), sim_bytes(host));
    sim_know(sim_storage(device), SIM_KNOWN);
}

/* Add up the values that have equal indices; `places` holds the target of each. */
static void settle_values(void *device, const void *values, void *places)
{
    struct sim_values stack = {0};
    struct sim_value arguments[] = {sim_tensor_value(copy_of(device, true)), sim_integer_value(0),
                                    sim_tensor_value(places),
                                    sim_tensor_value(copy_of(values, false)), sim_integer_value(1)};

    if (arguments[0].object && arguments[3].object) {
        sim_hold(places);
        if (call("aten::index_add_", &stack, arguments, 5) && stack.end - stack.begin == 1)
            settle(device, stack.begin->object);
    }
    if (stack.begin)
        sim_torch_free(&stack);
}

static void settle_result(void *result, const void *values, const struct sim_values *unique)
{
    void *its_indices = sim_torch_indices(result), *its_values = sim_torch_values(result);

    settle(its_indices, unique->begin[0].object);
    if (is_computed(values, sim_size_limit()))
        settle_values(its_values, values, unique->begin[1].object);
    else
        sim_know(sim_storage(its_values), SIM_UNKNOWN);
    sim_drop(its_indices);
    sim_drop(its_values);
}

/* Find the distinct indices, in order, and for each element which of them it has. */
static bool find_unique(const void *indices, struct sim_values *unique)
{
    struct sim_value arguments[] = {sim_tensor_value(copy_of(indices, false)), sim_integer_value(1),
                                    sim_bool_value(true), sim_bool_value(true),
                                    sim_bool_value(false)};

    return arguments[0].object && call("aten::unique_dim", unique, arguments, 5) &&
           unique->end - unique->begin == 3;
}

struct run {
    void *indices, *values;   /* of the argument */
    struct sim_values unique; /* what find_unique found */
};

static void end_run(struct run *run)
{
    sim_answer.expected = false;
    if (run->unique.begin)
        sim_torch_free(&run->unique);
    sim_drop(run->indices);
    sim_drop(run->values);
}

static void replacement(void *functor, const struct sim_handle *handle, uint64_t keys,
                        struct sim_values *stack)
{
    void *self = stack->end[-1].object;
    struct run run __attribute__((cleanup(end_run))) = {.indices = sim_torch_indices(self),
                                                        .values = sim_torch_values(self)};
    struct sim_pause paused = sim_torch_pause();
    bool counts = sim_dimensions(run.indices) == 2 && sim_sizes(run.indices)[1] > 1;
    bool known = counts && is_computed(run.indices, sim_integer_limit()) &&
                 find_unique(run.indices, &run.unique);

    sim_torch_resume(paused);
    if (counts && !known)
        sim_unknown_value(SIM_UNKNOWN_SIZE, sim_operator_name(handle->entry));
    if (known)
        sim_answer = (struct sim_answer){true, sim_sizes(run.unique.begin[0].object)[1]};
    replaced(functor, handle, keys, stack);
    if (!known)
        return;
    sim_answer.expected = false;
    paused = sim_torch_pause();
    settle_result(stack->end[-1].object, run.values, &run.unique);
    sim_torch_resume(paused);
}

/* --- the kernel ------------------------------------------------------------------------------ */

void sim_replace_coalesce(void)
{
    const char *entry = replaced ? NULL : sim_find_operator("aten::_coalesce", "");

    if (!entry || !sim_torch_of_sparse())
        return;
    for (int i = FIRST_SLOT; i <= LAST_SLOT; i++) {
        char *slot = sim_kernel_slot(entry, i), *host = sim_kernel_slot(entry, i - 1);

        if (!sim_in_library(sim_field(slot, 8), "libtorch_cuda") ||
            !sim_in_library(sim_field(host, 8), "libtorch_cpu"))
            continue;
        replaced = (sim_boxed *)(uintptr_t)sim_field(slot, 8);
        sim_put_kernel(slot, replacement);
        return;
    }
}
