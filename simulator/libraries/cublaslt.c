/* SPDX-License-Identifier: Apache-2.0 */
/* cublasLt: programs query algorithms, and give up if there are none. They also read back the
 * attributes that they have set for a matrix. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/launch.h"
#include "core/device/device.h"
#include "core/memory/memory.h"

/* The answer, in the library's layout. */
struct lt_result {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* A program may provide the memory of a descriptor itself, of CUDA 12's size. An attribute is
 * stored by its number; those beyond the end are dropped. */
enum { LAYOUT_PLACES = 8, OPERATION_PLACES = 32, ALLOC_FAILED = 3, INVALID_VALUE = 7 };
enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLUMNS, LAYOUT_LEADING, LAYOUT_BATCHES };
enum { OPERATION_COMPUTES = 0, OPERATION_SCALES };

static int set_attribute(uint64_t *places, unsigned n, unsigned attribute, const void *value,
                         size_t size)
{
    if (!places || !value || size > sizeof(*places))
        return INVALID_VALUE;
    if (attribute < n) {
        places[attribute] = 0;
        memcpy(&places[attribute], value, size);
    }
    return 0;
}

/* Get an attribute; size 0 queries its size. All attributes whose size programs query have 64
 * bits. */
static int get_attribute(const uint64_t *places, unsigned n, unsigned attribute, void *value,
                         size_t size, size_t *written)
{
    size_t known = size < sizeof(*places) ? size : sizeof(*places);
    if (!places || (size && !value) || (!size && !written))
        return INVALID_VALUE;
    if (size)
        memset(value, 0, size);
    if (size && attribute < n)
        memcpy(value, &places[attribute], known);
    if (written)
        *written = size ? size : sizeof(*places);
    return 0;
}

/* The common part of both kinds of descriptors. */
#define DESCRIPTOR(kind, n)                                                                        \
    int kind##Destroy(uint64_t *at);                                                               \
    int kind##SetAttribute(uint64_t *at, unsigned attribute, const void *value, size_t size);      \
    int kind##GetAttribute(const uint64_t *at, unsigned attribute, void *value, size_t size,       \
                           size_t *written);                                                       \
    int kind##Destroy(uint64_t *at)                                                                \
    {                                                                                              \
        free(at);                                                                                  \
        return 0;                                                                                  \
    }                                                                                              \
    int kind##SetAttribute(uint64_t *at, unsigned attribute, const void *value, size_t size)       \
    {                                                                                              \
        return set_attribute(at, n, attribute, value, size);                                       \
    }                                                                                              \
    int kind##GetAttribute(const uint64_t *at, unsigned attribute, void *value, size_t size,       \
                           size_t *written)                                                        \
    {                                                                                              \
        return get_attribute(at, n, attribute, value, size, written);                              \
    }
DESCRIPTOR(cublasLtMatrixLayout, LAYOUT_PLACES)
DESCRIPTOR(cublasLtMatmulDesc, OPERATION_PLACES)

/* Clear a descriptor. Return false if it is too small. */
static bool begin(uint64_t *at, size_t size, unsigned n)
{
    if (!at || size < n * sizeof(*at))
        return false;
    memset(at, 0, n * sizeof(*at));
    return true;
}

int cublasLtMatrixLayoutInit_internal(uint64_t *layout, size_t size, int type, uint64_t rows,
                                      uint64_t columns, int64_t leading)
{
    if (!begin(layout, size, LAYOUT_PLACES))
        return INVALID_VALUE;
    layout[LAYOUT_TYPE] = (uint32_t)type;
    layout[LAYOUT_ROWS] = rows;
    layout[LAYOUT_COLUMNS] = columns;
    layout[LAYOUT_LEADING] = (uint64_t)leading;
    layout[LAYOUT_BATCHES] = 1;
    return 0;
}

int cublasLtMatrixLayoutCreate(uint64_t **out, int type, uint64_t rows, uint64_t columns,
                               int64_t leading)
{
    size_t size = LAYOUT_PLACES * sizeof(**out);
    *out = malloc(size);
    return *out ? cublasLtMatrixLayoutInit_internal(*out, size, type, rows, columns, leading)
                : ALLOC_FAILED;
}

int cublasLtMatmulDescInit_internal(uint64_t *operation, size_t size, int computes, int scales)
{
    if (!begin(operation, size, OPERATION_PLACES))
        return INVALID_VALUE;
    operation[OPERATION_COMPUTES] = (uint32_t)computes;
    operation[OPERATION_SCALES] = (uint32_t)scales;
    return 0;
}

int cublasLtMatmulDescCreate(uint64_t **out, int computes, int scales)
{
    size_t size = OPERATION_PLACES * sizeof(**out);
    *out = malloc(size);
    return *out ? cublasLtMatmulDescInit_internal(*out, size, computes, scales) : ALLOC_FAILED;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c,
                                   void *d, void *preference, int wanted, struct lt_result *results,
                                   int *count)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *count = wanted > 0;
    if (wanted > 0)
        results[0] = (struct lt_result){.algorithm = {1}, .waves = 1};
    return 0;
}

int cublasLtMatmulAlgoCheck(void *handle, void *operation, void *a, void *b, void *c, void *d,
                            const void *algorithm, struct lt_result *result)
{
    (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d;
    if (!result)
        return 0;
    *result = (struct lt_result){.waves = 1};
    memcpy(result->algorithm, algorithm, sizeof(result->algorithm));
    return 0;
}

int cublasLtMatmulAlgoConfigGetAttribute(const void *algorithm, int attribute, void *value,
                                         size_t size, size_t *written)
{
    (void)algorithm, (void)attribute;
    if (value)
        memset(value, 0, size);
    if (written)
        *written = size;
    return 0;
}

/* Multiply. The operation's attributes contain pointers, too: a bias, scales. */
int cublasLtMatmul(void *handle, const uint64_t *operation, const void *alpha, const void *a,
                   const void *a_layout, const void *b, const void *b_layout, const void *beta,
                   const void *c, const void *c_layout, const void *d, const void *d_layout,
                   const void *algorithm, const void *workspace)
{
    enum { POINTERS = 7 };
    static void *_Atomic launched;
    uint64_t words[POINTERS + OPERATION_PLACES] = {(uintptr_t)alpha,    (uintptr_t)a, (uintptr_t)b,
                                                   (uintptr_t)beta,     (uintptr_t)c, (uintptr_t)d,
                                                   (uintptr_t)workspace};
    (void)handle, (void)a_layout, (void)b_layout, (void)c_layout, (void)d_layout, (void)algorithm;
    if (operation)
        memcpy(words + POINTERS, operation, OPERATION_PLACES * sizeof *operation);
    library_launch("cublasLtMatmul", &launched, POINTERS + OPERATION_PLACES, words);
    return 0;
}
