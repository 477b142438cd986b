/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <string.h>

#include "small.h"
#include "zeroed.h"

/* Find the dimension along which an operator chooses; `all`: it chooses among all elements. Return
 * false if it does not choose along one. */
static bool find_dimension(const struct sim_replaced *op, const struct sim_value *arguments,
                           int64_t *dimension, bool *all)
{
    const char *name = sim_operator_name(op->entry);
    size_t at = strcmp(name, "aten::topk") ? 1 : 2;
    int64_t n = (int64_t)sim_dimensions(arguments[0].object);

    if (op->results == 1 && (!strcmp(name, "aten::max") || !strcmp(name, "aten::min")))
        return false; /* of all values, or of two tensors */
    *all = false;
    if (!strcmp(name, "aten::multinomial") || at >= op->arguments)
        *dimension = -1;
    else if (arguments[at].tag == SIM_TAG_NONE)
        *all = true;
    else if (arguments[at].tag == SIM_TAG_INT)
        *dimension = arguments[at].integer;
    else
        return false;
    *dimension = *all ? -1 : *dimension + (*dimension < 0 ? n : 0);
    return *all || (*dimension >= 0 && *dimension < n);
}

int64_t sim_choices(const struct sim_replaced *op, const struct sim_value *arguments)
{
    int64_t dimension = -1;
    bool all;

    if (!sim_is_on_device(&arguments[0]))
        return 0;
    if (!sim_dimensions(arguments[0].object))
        return 1;
    if (!find_dimension(op, arguments, &dimension, &all))
        return 0;
    return all ? sim_numel(arguments[0].object) : sim_sizes(arguments[0].object)[dimension];
}

int64_t sim_known_zero(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const char *name = sim_operator_name(op->entry);
    int64_t dimension = -1;
    bool all, smallest = !strcmp(name, "aten::argmin") || !strcmp(name, "aten::min") ||
                         (!strcmp(name, "aten::topk") && op->arguments > 3 &&
                          arguments[3].tag == sim_layout.tag_bool && !arguments[3].boolean);

    return !smallest && sim_is_on_device(&arguments[0]) && sim_dimensions(arguments[0].object) &&
                   find_dimension(op, arguments, &dimension, &all)
               ? sim_zeroed_index(arguments[0].object, dimension)
               : -1;
}

int64_t sim_picks(const struct sim_replaced *op, const struct sim_value *arguments)
{
    const char *name = sim_operator_name(op->entry);
    bool many = !strcmp(name, "aten::topk") || !strcmp(name, "aten::multinomial");

    return many && op->arguments > 1 && arguments[1].tag == SIM_TAG_INT && arguments[1].integer > 0
               ? arguments[1].integer
               : 1;
}
