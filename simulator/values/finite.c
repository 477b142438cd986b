/* SPDX-License-Identifier: Apache-2.0 */
#include "finite.h"

#include <string.h>

/* Return the bits of the exponent, which are all set in infinities and NaN; 0 for integers. */
static uint64_t exponent_of(const void *tensor)
{
    switch (sim_dtype(tensor)) {
    case SIM_TYPE_HALF:
        return 0x7c00;
    case SIM_TYPE_BFLOAT16:
        return 0x7f80;
    case SIM_TYPE_FLOAT:
        return 0x7f800000;
    case SIM_TYPE_DOUBLE:
        return UINT64_C(0x7ff) << 52;
    }
    return 0;
}

/* Find the first element from `at` on that is not finite, or NULL. */
static char *find_infinite(const void *tensor, char *at)
{
    uint64_t exponent = exponent_of(tensor), bits = 0;
    size_t element = sim_element(tensor);

    if (!exponent || !sim_numel(tensor))
        return NULL;
    for (char *end = sim_elements(tensor) + sim_span(tensor); at < end; at += element) {
        memcpy(&bits, at, element); /* little-endian: the low bytes */
        if ((bits & exponent) == exponent)
            return at;
    }
    return NULL;
}

bool sim_are_finite(const struct sim_value *begin, const struct sim_value *end)
{
    for (const struct sim_value *value = begin; value != end; value++)
        if (value->tag == SIM_TAG_TENSOR) {
            if (value->object != sim_layout.undefined &&
                find_infinite(value->object, sim_elements(value->object)))
                return false;
        } else if (value->tag == sim_layout.tag_list) {
            if (!sim_are_finite(sim_list(value)->begin, sim_list(value)->end))
                return false;
        }
    return true;
}

void sim_make_finite(void *tensor)
{
    for (char *at = sim_elements(tensor); (at = find_infinite(tensor, at));)
        memset(at, 0, sim_element(tensor));
}
