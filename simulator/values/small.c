/* SPDX-License-Identifier: Apache-2.0 */
#include "small.h"

#include "core/memory/content.h"
#include "core/memory/written.h"
#include "rules.h"

enum {
    MOST_SPAN = 16 << 20,    /* bytes between a view's first element and its last */
    MOST_LARGE = 256 << 20,  /* the same, and of a tensor, where choices are counted */
    MOST_INTEGERS = 1 << 20, /* of a tensor, where all are integers that are known */
    MOST_EXPANDED = 8,       /* times what is stored, where nothing is a choice */
    MOST_TOGETHER = 8,       /* tensors of the largest size that an operator may have in all */
};

static size_t size_limit;

void sim_set_size_limit(size_t bytes)
{
    size_limit = bytes;
}

size_t sim_size_limit(void)
{
    return size_limit;
}

size_t sim_integer_limit(void)
{
    return size_limit && size_limit < MOST_INTEGERS ? MOST_INTEGERS : size_limit;
}

/* Return whether Python may have pickled an object into it. */
static bool is_row_of_bytes(const void *tensor)
{
    return sim_dimensions(tensor) == 1 && sim_dtype(tensor) == SIM_TYPE_BYTE &&
           sim_bytes(tensor) == sim_span(tensor);
}

bool sim_is_wide(unsigned rules, const void *tensor)
{
    if (rules & SIM_LARGE)
        return sim_span(tensor) > MOST_LARGE;
    return sim_span(tensor) > (is_row_of_bytes(tensor) ? sim_object_limit() : MOST_SPAN);
}

static size_t limit_of(unsigned rules, const void *tensor)
{
    if (rules & SIM_CARRIES && size_limit && is_row_of_bytes(tensor))
        return sim_object_limit();
    if (rules & SIM_LARGE)
        return MOST_LARGE;
    if (rules & SIM_INTEGERS)
        return sim_integer_limit();
    return rules & SIM_FILLS ? sim_copy_limit() : size_limit;
}

static bool is_small(unsigned rules, const void *tensor, size_t *together)
{
    size_t limit;

    if (tensor == sim_layout.undefined)
        return true;
    limit = limit_of(rules, tensor);
    if (!sim_field(tensor, sim_layout.storage) || !sim_element(tensor) ||
        (sim_numel(tensor) && !sim_storage(tensor)))
        return false;
    *together += sim_bytes(tensor);
    return sim_bytes(tensor) <= limit && *together <= MOST_TOGETHER * limit &&
           (sim_device_type(tensor) == SIM_DEVICE_CUDA ||
            sim_device_type(tensor) == SIM_DEVICE_CPU) &&
           !sim_is_wide(rules, tensor);
}

bool sim_are_small(unsigned rules, const struct sim_value *begin, const struct sim_value *end,
                   size_t *together)
{
    for (const struct sim_value *value = begin; value != end; value++)
        if (value->tag == SIM_TAG_TENSOR) {
            if (!is_small(rules, value->object, together))
                return false;
        } else if (value->tag == sim_layout.tag_list) {
            if (!sim_are_small(rules, sim_list(value)->begin, sim_list(value)->end, together))
                return false;
        }
    return true;
}

bool sim_have_contents(const struct sim_value *begin, const struct sim_value *end)
{
    for (const struct sim_value *value = begin; value != end; value++)
        if (value->tag == SIM_TAG_TENSOR) {
            if (!sim_is_device(value->object) ||
                sim_is_written(sim_elements(value->object), sim_span(value->object)))
                return true;
        } else if (value->tag == sim_layout.tag_list) {
            if (sim_have_contents(sim_list(value)->begin, sim_list(value)->end))
                return true;
        }
    return false;
}

bool sim_is_long(size_t together)
{
    return together > MOST_TOGETHER * size_limit;
}

/* --- what is known ------------------------------------------------------------------------- */

bool sim_covers_storage(const void *tensor)
{
    return sim_bytes(tensor) >= sim_storage_size(tensor);
}

enum sim_known sim_find_known(const void *tensor)
{
    enum sim_known known;

    if (!sim_is_device(tensor) || !sim_numel(tensor))
        return SIM_KNOWN;
    known = sim_known(sim_storage(tensor));
    if (known == SIM_FRESH && sim_elements(tensor) != sim_storage(tensor))
        known = sim_known(sim_elements(tensor)); /* NCCL wrote there */
    return known;
}

/* Return whether the elements of two tensors stand in the same order: such a copy is a memcpy. */
static bool are_ordered_alike(const void *a, const void *b)
{
    size_t n = sim_dimensions(a);
    bool alike = n == sim_dimensions(b);
    for (size_t i = 0; i < n && alike; i++)
        alike = sim_sizes(a)[i] == 1 || sim_strides(a)[i] == sim_strides(b)[i];
    return alike;
}

enum sim_known sim_copies_bytes(const void *to, const void *from)
{
    if (!sim_is_device(from))
        return SIM_KNOWN; /* the host makes it what it is to be */
    return sim_dtype(to) == sim_dtype(from) && sim_span(from) == sim_bytes(to) &&
                   are_ordered_alike(to, from)
               ? sim_known(sim_storage(from))
               : SIM_FRESH;
}

static bool is_integer(unsigned type)
{
    return type <= SIM_TYPE_LONG || type == SIM_TYPE_BOOL;
}

/* Return whether a copy makes integers of something else, or numbers of choices, or is one that the
 * device leaves out. */
static bool changes(const struct sim_value *to, const struct sim_value *from)
{
    return from->tag == SIM_TAG_TENSOR && sim_is_device(to->object) &&
           sim_is_device(from->object) &&
           (is_integer(sim_dtype(to->object)) ||
            (sim_dtype(from->object) <= SIM_TYPE_LONG && sim_element(from->object) > 1)) &&
           (sim_dtype(to->object) != sim_dtype(from->object) ||
            sim_bytes(to->object) > sim_copy_limit() ||
            sim_span(from->object) != sim_bytes(to->object) ||
            !are_ordered_alike(to->object, from->object));
}

/* Return whether an operator's large tensor is known, or it only writes to all of its storage. For
 * a large one, writes by kernels that do not run are not noted. */
static bool is_sure(const struct sim_replaced *op, const void *tensor, bool written)
{
    return (written && op->rules & SIM_OVERWRITES && sim_covers_storage(tensor)) ||
           sim_is_settled(sim_find_known(tensor));
}

/* Return whether an operator's tensors are all usable and, if requested, all integers or
 * booleans. */
static bool are_sure(const struct sim_replaced *op, const struct sim_value *begin,
                     const struct sim_value *end, uint64_t writes, bool whole)
{
    for (const struct sim_value *value = begin; value != end; value++, writes >>= 1)
        if (value->tag == sim_layout.tag_list) {
            if (!are_sure(op, sim_list(value)->begin, sim_list(value)->end,
                          writes & 1 ? UINT64_MAX : 0, whole))
                return false;
        } else if (value->tag == SIM_TAG_TENSOR && value->object != sim_layout.undefined &&
                   ((whole && !is_integer(sim_dtype(value->object))) ||
                    !is_sure(op, value->object, writes & 1))) {
            return false;
        }
    return true;
}

bool sim_are_integers(const struct sim_value *begin, const struct sim_value *end)
{
    size_t together = 0;

    for (const struct sim_value *value = begin; value != end; value++)
        if (value->tag != SIM_TAG_TENSOR || value->object == sim_layout.undefined ||
            !is_integer(sim_dtype(value->object)))
            return false;
    return size_limit && sim_are_small(SIM_INTEGERS, begin, end, &together);
}

bool sim_is_of_integers(const struct sim_replaced *op, const struct sim_value *arguments)
{
    size_t together = 0, copies = op->rules & SIM_COPIES ? 1 : 0; /* to any type */

    return size_limit &&
           sim_are_small(op->rules | SIM_INTEGERS, arguments, arguments + op->arguments,
                         &together) &&
           are_sure(op, arguments + copies, arguments + op->arguments, op->writes >> copies,
                    true) &&
           (!copies || is_sure(op, arguments[0].object, true));
}

/* Add up the bytes of the storages, and of the tensors as they are read. false: one is a choice
 * among values that are not known. */
static bool add_known(const struct sim_value *begin, const struct sim_value *end, size_t *stored,
                      size_t *read)
{
    for (const struct sim_value *value = begin; value != end; value++)
        if (value->tag == sim_layout.tag_list) {
            if (!add_known(sim_list(value)->begin, sim_list(value)->end, stored, read))
                return false;
        } else if (value->tag == SIM_TAG_TENSOR && value->object != sim_layout.undefined) {
            if (sim_find_known(value->object) > SIM_KNOWN)
                return false;
            *stored += sim_storage_size(value->object);
            *read += sim_bytes(value->object);
        }
    return true;
}

/* Return how many bytes a route's results may have: any, where it reads choices; where all is
 * known, a few times what is stored, since a broadcast of little makes much. 0: it reads too much.
 */
static size_t most_of_route(const struct sim_replaced *op, const struct sim_value *arguments)
{
    size_t stored = 0, read = 0, most;

    if (!add_known(arguments, arguments + op->arguments, &stored, &read))
        return SIZE_MAX;
    most = size_limit ? MOST_EXPANDED * stored : 0;
    most = most > sim_integer_limit() ? most : sim_integer_limit();
    return read <= most ? most : 0;
}

size_t sim_route_limit(const struct sim_replaced *op, const struct sim_value *arguments)
{
    size_t together = 0, most;

    if (!(op->rules & SIM_ROUTES))
        return 0;
    most = most_of_route(op, arguments);
    return most && (!(op->rules & SIM_COPIES) || changes(&arguments[0], &arguments[1])) &&
                   sim_are_small(op->rules | SIM_LARGE, arguments, arguments + op->arguments,
                                 &together) &&
                   are_sure(op, arguments, arguments + op->arguments, op->writes, false)
               ? most
               : 0;
}
