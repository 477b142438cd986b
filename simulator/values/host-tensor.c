/* SPDX-License-Identifier: Apache-2.0 */
#include "host-tensor.h"

#include <stdlib.h>
#include <string.h>

#include "small.h"
#include "torch.h"

void sim_host_put(void *tensor, void *elements)
{
    void *storage = sim_field(tensor, sim_layout.storage);

    *(void **)((char *)storage + sim_layout.data) = elements;
}

void *sim_host_like(const void *tensor)
{
    return sim_torch_tensor(sim_sizes(tensor), sim_strides(tensor), sim_dimensions(tensor),
                            sim_dtype(tensor));
}

/* Host tensors created earlier, kept for the next one of the same shape. */
enum { SPARE = 64 };
static _Thread_local void *spare[SPARE];

static bool same_shape(const void *a, const void *b)
{
    size_t n = sim_dimensions(a), bytes = n * sizeof(int64_t);

    return n == sim_dimensions(b) && sim_dtype(a) == sim_dtype(b) &&
           !memcmp(sim_sizes(a), sim_sizes(b), bytes) &&
           !memcmp(sim_strides(a), sim_strides(b), bytes);
}

static void **spare_for(const void *tensor)
{
    uint64_t hash = sim_dtype(tensor);

    for (size_t i = 0; i < sim_dimensions(tensor); i++)
        hash = hash * 31 + (uint64_t)sim_sizes(tensor)[i] * 7 + (uint64_t)sim_strides(tensor)[i];
    return &spare[(hash ^ hash >> 6) % SPARE];
}

void *sim_host_over(void *tensor)
{
    void **place = spare_for(tensor), *made = *place;

    if (!made || !sim_is_alone(made) || !same_shape(made, tensor)) {
        made = sim_host_like(tensor);
        if (!made)
            return NULL;
        if (!*place || sim_is_alone(*place)) {
            if (*place)
                sim_drop(*place);
            *place = made;
            sim_hold(made);
        }
    } else {
        sim_hold(made);
    }
    sim_host_put(made, sim_elements(tensor));
    return made;
}

void *sim_host_reals(void *tensor)
{
    void *integers = sim_host_over(tensor);
    void *made = sim_torch_tensor(sim_sizes(tensor), sim_strides(tensor), sim_dimensions(tensor),
                                  SIM_TYPE_DOUBLE);

    if (made && (!integers || !sim_torch_copy(made, integers))) {
        sim_drop(made);
        made = NULL;
    }
    if (integers)
        sim_drop(integers);
    return made;
}

void *sim_host_resolved(void *tensor)
{
    void *made = sim_host_over(tensor);

    for (int negative = 0; made && negative < 2; negative++)
        if (sim_has_key(tensor, negative ? sim_layout.negative : sim_layout.conjugate)) {
            void *plain = made;

            made = sim_torch_lazy_copy(plain, negative);
            sim_drop(plain);
        }
    return made;
}

/* --- as numbers --- */

/* Create a dense tensor with the shape of another. */
static void *dense_like(const void *tensor, unsigned type)
{
    int64_t strides[SIM_DIMENSIONS_INSIDE], stride = 1;
    size_t n = sim_dimensions(tensor);
    if (!n || n > SIM_DIMENSIONS_INSIDE)
        return NULL;
    for (size_t i = n; i--; stride *= sim_sizes(tensor)[i])
        strides[i] = stride;
    return sim_torch_tensor(sim_sizes(tensor), strides, n, type);
}

bool sim_read_numbers(struct sim_numbers *out, const struct sim_value *value)
{
    *out = (struct sim_numbers){0};
    if (value->tag != SIM_TAG_TENSOR || value->object == sim_layout.undefined)
        return true;
    void *copy = dense_like(value->object, SIM_TYPE_DOUBLE);
    size_t n = (size_t)sim_numel(value->object);
    bool is_copied = copy && sim_torch_copy(copy, value->object);
    out->number = is_copied ? malloc((n + 1) * sizeof(double)) : NULL;
    if (out->number) {
        memcpy(out->number, sim_elements(copy), n * sizeof(double));
        out->columns = (size_t)sim_sizes(copy)[sim_dimensions(copy) - 1];
        out->rows = out->columns ? n / out->columns : 0;
    }
    if (copy)
        sim_drop(copy);
    return out->number;
}

void *sim_write_numbers(const double *number, const void *like)
{
    void *made = dense_like(like, sim_dtype(like)), *exact = dense_like(like, SIM_TYPE_DOUBLE);
    bool is_written = false;
    if (made && exact) {
        memcpy(sim_elements(exact), number, (size_t)sim_numel(like) * sizeof(double));
        is_written = sim_torch_copy(made, exact);
    }
    if (exact)
        sim_drop(exact);
    if (made && !is_written)
        sim_drop(made);
    return is_written ? made : NULL;
}
