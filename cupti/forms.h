/* SPDX-License-Identifier: Apache-2.0 */
/* Record calls of each form (types.h) when they begin and when they have ended. */
#ifndef MT_CUPTI_FORMS_H
#define MT_CUPTI_FORMS_H

#include <stdbool.h>

#include "library.h"

/* A call at its begin or end. */
struct mt_cupti_moment {
    const struct mt_cupti_recorder *recorder;
    struct mt_cuda_call call;
    const void *parameters;
    unsigned result;
    struct mt_cuda_free *free; /* kept from its begin to its end */
    uint64_t code;             /* bytes of CUDA modules that came to a device within the call */
};

struct mt_form {
    void (*begin)(const struct mt_cupti_moment *moment); /* NULL: nothing */
    void (*end)(const struct mt_cupti_moment *moment);
    bool is_object; /* a context or a CUDA module: recorded even within another call */
};

extern const struct mt_form mt_form_of_alloc, mt_form_of_async, mt_form_of_pool, mt_form_of_pitch,
    mt_form_of_box, mt_form_of_array, mt_form_of_array_3d, mt_form_of_mipmapped,
    mt_form_of_register, mt_form_of_import, mt_form_of_buffer, mt_form_of_flat, mt_form_of_deep,
    mt_form_of_deep_levels, mt_form_of_physical, mt_form_of_map, mt_form_of_unmap, mt_form_of_team,
    mt_form_of_bind, mt_form_of_bind_address, mt_form_of_unbind, mt_form_of_free,
    mt_form_of_free_async, mt_form_of_made, mt_form_of_made_of, mt_form_of_made_by,
    mt_form_of_ending, mt_form_of_ending_device, mt_form_of_reset;

#endif
