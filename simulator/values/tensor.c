/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "torch.h"

struct sim_layout sim_layout; /* layout.c measures it */

size_t sim_element(const void *tensor)
{
    /* By c10::ScalarType. */
    static const unsigned char sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 0, 0, 0,
                                          2, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1,  1, 2, 4, 8};
    unsigned dtype = sim_dtype(tensor);

    return dtype < sizeof(sizes) ? sizes[dtype] : 0;
}

size_t sim_span(const void *tensor)
{
    const int64_t *sizes = sim_sizes(tensor), *strides = sim_strides(tensor);
    int64_t last = 0;

    for (size_t i = 0; i < sim_dimensions(tensor); i++) {
        if (!sizes[i])
            return 0;
        last += (sizes[i] - 1) * strides[i];
    }
    return (size_t)(last + 1) * sim_element(tensor);
}

char *sim_elements(const void *tensor)
{
    int64_t offset = (int64_t)sim_field(tensor, sim_layout.numel - 8);

    return sim_storage(tensor) + (size_t)offset * sim_element(tensor);
}

/* --- references ---------------------------------------------------------------------------- */

/* Hold a tensor. Older releases count in words of 64 bits, newer ones in halves of one. */
void sim_hold(void *object)
{
    if (sim_layout.counts == 16)
        atomic_fetch_add((_Atomic uint64_t *)object + 1, 1);
    else
        atomic_fetch_add((_Atomic uint32_t *)object + 2, 1);
}

bool sim_is_alone(const void *object)
{
    return sim_layout.counts == 16 ? ((const _Atomic uint64_t *)object)[1] == 1
                                   : ((const _Atomic uint32_t *)object)[2] == 1;
}

void sim_drop(void *object)
{
    /* A class with a virtual destructor: the second entry deletes. */
    typedef void delete_function(void *object);
    delete_function *const *table = *(delete_function *const **)object;

    if (sim_layout.counts == 16 ? atomic_fetch_sub((_Atomic uint64_t *)object + 1, 1) == 1
                                : atomic_fetch_sub((_Atomic uint32_t *)object + 2, 1) == 1)
        table[1](object);
}

void sim_drop_value(struct sim_value *value)
{
    if (value->tag == SIM_TAG_TENSOR && value->object == sim_layout.undefined)
        return;
    if (value->object &&
        (value->tag == SIM_TAG_TENSOR || value->tag == SIM_TAG_COMPLEX ||
         value->tag == sim_layout.tag_string || value->tag == sim_layout.tag_list ||
         value->tag == sim_layout.tag_generator))
        sim_drop(value->object);
}
