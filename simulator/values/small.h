/* SPDX-License-Identifier: Apache-2.0 */
/* Which tensors are small enough to be computed. */
#ifndef SIM_SMALL_H
#define SIM_SMALL_H

#include "core/values/known.h"
#include "replaced.h"
#include "torch.h"

/* Set and return the limit for one tensor, in bytes; 0: nothing is computed. */
void sim_set_size_limit(size_t bytes);
size_t sim_size_limit(void);
/* Return the limit for a tensor of known integers, where an operator has no others. */
size_t sim_integer_limit(void);

static inline bool sim_is_device(const void *tensor)
{
    return tensor != sim_layout.undefined && sim_device_type(tensor) == SIM_DEVICE_CUDA;
}

static inline bool sim_is_on_device(const struct sim_value *value)
{
    return value->tag == SIM_TAG_TENSOR && sim_is_device(value->object);
}

static inline size_t sim_bytes(const void *tensor)
{
    return (size_t)sim_numel(tensor) * sim_element(tensor);
}

/* Return whether the tensors of these values, and of their lists, are small for an operator with
 * these rules. Their bytes are added to `together`. */
bool sim_are_small(unsigned rules, const struct sim_value *begin, const struct sim_value *end,
                   size_t *together);
/* Return whether an operator reads and writes known integers only, and not too many. */
bool sim_is_of_integers(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return whether the results are integers, and not too many. */
bool sim_are_integers(const struct sim_value *begin, const struct sim_value *end);
/* Return how many bytes the results of an operator may have that makes counts of what is known, in
 * tensors that are not too large; 0: it is not one. */
size_t sim_route_limit(const struct sim_replaced *op, const struct sim_value *arguments);
/* Return what is known of a tensor's content. */
enum sim_known sim_find_known(const void *tensor);
bool sim_covers_storage(const void *tensor);
/* Return what is known of a copy which moves bytes as they are: what is known of its source.
 * SIM_FRESH: a kernel would make it. */
enum sim_known sim_copies_bytes(const void *to, const void *from);
/* Return whether so many bytes are computed only because they may be an object. */
bool sim_is_long(size_t together);
/* Return whether its first and its last element lie too far apart. */
bool sim_is_wide(unsigned rules, const void *tensor);
/* Return whether one of the tensors is the host's, or the device's and was written to. */
bool sim_have_contents(const struct sim_value *begin, const struct sim_value *end);

#endif
