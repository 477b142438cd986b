/* SPDX-License-Identifier: Apache-2.0 */
#include "zeroed.h"

#include <string.h>

#include "small.h"

static _Thread_local struct {
    const char *storage, *element;
} zeroed;

static void forget(const struct sim_value *value)
{
    if (zeroed.storage && sim_is_on_device(value) && sim_storage(value->object) == zeroed.storage)
        zeroed.storage = NULL;
}

void sim_forget_zeroed(const struct sim_value *results, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!sim_is_on_device(&results[i]) || sim_covers_storage(results[i].object))
            forget(&results[i]);
}

/* Return whether an operator sets its first argument to 0. */
static bool sets_to_zero(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const char *name = sim_operator_name(op->entry);

    if (!strcmp(name, "aten::zero_"))
        return true;
    return !strcmp(name, "aten::fill_") && op->arguments == 2 &&
           ((arguments[1].tag == SIM_TAG_INT && arguments[1].integer == 0) ||
            (arguments[1].tag == SIM_TAG_DOUBLE && arguments[1].real == 0));
}

void sim_note_zeroed(const struct sim_replaced *op, const struct sim_value *arguments)
{
    for (size_t i = 0; i < op->arguments; i++)
        if (op->writes >> i & 1)
            forget(&arguments[i]);
    if (!op->arguments || !sim_is_on_device(&arguments[0]) || !sets_to_zero(op, arguments) ||
        sim_covers_storage(arguments[0].object) ||
        sim_is_settled(sim_find_known(arguments[0].object)))
        return;
    zeroed.storage = sim_storage(arguments[0].object);
    zeroed.element = sim_elements(arguments[0].object);
}

int64_t sim_zeroed_index(const void *tensor, int64_t dimension)
{
    size_t step = sim_element(tensor);
    int64_t n = sim_numel(tensor);
    ptrdiff_t behind = zeroed.element - sim_elements(tensor);

    if (!zeroed.storage || sim_storage(tensor) != zeroed.storage || !step || behind < 0)
        return -1;
    if (dimension >= 0) {
        step *= (size_t)sim_strides(tensor)[dimension];
        n = sim_sizes(tensor)[dimension];
    } else if (sim_span(tensor) != sim_bytes(tensor)) {
        return -1;
    }
    return step && (size_t)behind % step == 0 && behind / (ptrdiff_t)step < n
               ? behind / (ptrdiff_t)step
               : -1;
}
