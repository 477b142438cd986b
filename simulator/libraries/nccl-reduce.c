/* SPDX-License-Identifier: Apache-2.0 */
/* The contents that ranks exchange, and NCCL's arithmetic: programs add up counts, norms and flags
 * over ranks and read them back. */
#include <string.h>

#include "nccl.h"

enum { OP_SUM, OP_PRODUCT, OP_MAX, OP_MIN, OP_AVERAGE };
enum { UINT8 = 1, BFLOAT16 = 9 };

/* The element types that the compiler can compute with: number, name, type. */
#define TYPES(X)                                                                                   \
    X(0, int8, int8_t)                                                                             \
    X(1, uint8, uint8_t)                                                                           \
    X(2, int32, int32_t)                                                                           \
    X(3, uint32, uint32_t)                                                                         \
    X(4, int64, int64_t)                                                                           \
    X(5, uint64, uint64_t)                                                                         \
    X(6, half, _Float16)                                                                           \
    X(7, single, float)                                                                            \
    X(8, real, double)

#define LOOP(expression)                                                                           \
    for (size_t i = 0; i < count; i++) {                                                           \
        a = into[i], b = from[i];                                                                  \
        into[i] = (expression);                                                                    \
    }                                                                                              \
    break;

/* Integers are added as unsigned: overflow wraps. */
#define DEFINE(number, name, type)                                                                 \
    __attribute__((no_sanitize("signed-integer-overflow"))) static void combine_##name(            \
        type *into, const type *from, size_t count, int op)                                        \
    {                                                                                              \
        type a, b;                                                                                 \
        switch (op) {                                                                              \
        case OP_PRODUCT:                                                                           \
            LOOP((type)(a * b))                                                                    \
        case OP_MAX:                                                                               \
            LOOP(a > b ? a : b)                                                                    \
        case OP_MIN:                                                                               \
            LOOP(a < b ? a : b)                                                                    \
        default:                                                                                   \
            LOOP((type)(a + b))                                                                    \
        }                                                                                          \
    }                                                                                              \
    static void scale_##name(type *values, size_t count, double factor)                            \
    {                                                                                              \
        for (size_t i = 0; i < count; i++)                                                         \
            values[i] = (type)((double)values[i] * factor);                                        \
    }
TYPES(DEFINE)

/* Widen a bfloat16, which is the upper half of a float. */
static float widen(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float wide;
    memcpy(&wide, &bits, sizeof(wide));
    return wide;
}

static uint16_t narrow(float wide)
{
    uint32_t bits;
    memcpy(&bits, &wide, sizeof(bits));
    if (wide != wide)
        return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* to the nearest, ties to even */
}

static void combine_bfloat16(uint16_t *into, const uint16_t *from, size_t count, int op)
{
    for (size_t i = 0; i < count; i++) {
        float a = widen(into[i]), b = widen(from[i]);
        combine_single(&a, &b, 1, op);
        into[i] = narrow(a);
    }
}

size_t nccl_type_size(int type)
{
    static const unsigned char sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < (int)sizeof(sizes) ? sizes[type] : 0;
}

size_t nccl_limit(int type)
{
    return type <= UINT8 ? sim_object_limit() : sim_copy_limit();
}

bool nccl_type_adds(int type)
{
    return type >= 0 && type <= BFLOAT16;
}

void nccl_combine(void *into, const void *from, size_t count, int type, int op)
{
    switch (type) {
#define COMBINE(number, name, type)                                                                \
    case number:                                                                                   \
        combine_##name(into, from, count, op);                                                     \
        break;
        TYPES(COMBINE)
    case BFLOAT16:
        combine_bfloat16(into, from, count, op);
        break;
    }
}

void nccl_scale(void *values, size_t count, int type, double factor)
{
    uint16_t *small = values;
    switch (type) {
#define SCALE(number, name, type)                                                                  \
    case number:                                                                                   \
        scale_##name(values, count, factor);                                                       \
        break;
        TYPES(SCALE)
    case BFLOAT16:
        for (size_t i = 0; i < count; i++)
            small[i] = narrow((float)(widen(small[i]) * factor));
        break;
    }
}

double nccl_number(const void *value, int type)
{
    switch (type) {
#define NUMBER(number, name, type)                                                                 \
    case number:                                                                                   \
        return (double)*(const type *)value;
        TYPES(NUMBER)
    case BFLOAT16:
        return (double)widen(*(const uint16_t *)value);
    }
    return 1;
}

enum nccl_result nccl_copy(void *to, const void *from, size_t size)
{
    if (!sim_copy_object(to, from, size))
        return NCCL_SUCCESS;
    return nccl_fail(NCCL_INVALID_ARGUMENT, "%zu bytes at %p or %p are not device memory", size,
                     from, to);
}

void nccl_scale_by_operator(const struct nccl_operation *operation, void *terms)
{
    const struct nccl_comm *comm = operation->comm;
    int scalar = operation->op - NCCL_OPERATORS;
    if (scalar >= 0 && scalar < NCCL_SCALARS && comm->scalars[scalar].used)
        nccl_scale(terms, operation->count, operation->type, comm->scalars[scalar].value);
}
