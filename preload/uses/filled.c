/* SPDX-License-Identifier: Apache-2.0 */
#include "filled.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    BY_WIDTH = 1, /* one for each block of the grid's x */
    BY_HEIGHT,    /* of its y */
    BY_CHUNKS,    /* the list says which tensor each block of the grid works on */
};

static const struct kind {
    const char *name;
    struct mt_filled filled; /* without rows: as many as the name says */
    uint8_t more;            /* rows of addresses besides */
} kinds[] = {
    {"CatArrayBatchedCopy", {1, BY_HEIGHT, 1, 0}, 0},
    {"TensorListAddresses", {1, BY_WIDTH, 1, 0}, 0},
    /* Addresses, numbers of elements, and addresses of steps or scalars. */
    {"multi_tensor_apply_kernelINS1_18TensorListMetadataI", {0, BY_CHUNKS, 0, 8}, 0},
    {"multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataI", {0, BY_CHUNKS, 0, 16}, 2},
    {"multi_tensor_apply_kernelINS1_28TensorListScalarListMetadataI", {0, BY_CHUNKS, 0, 8}, 0},
};

/* Return the bytes of a mangled scalar, 0 if there is none; *name then begins behind it. */
static unsigned read_scalar(const char **name)
{
    static const char complex_[] = "N3c107complexI";
    static const struct {
        char letter;
        uint8_t size;
    } scalars[] = {{'b', 1}, {'h', 1}, {'a', 1}, {'s', 2}, {'i', 4}, {'f', 4}, {'l', 8}, {'d', 8}};
    bool is_complex = !strncmp(*name, complex_, strlen(complex_));
    const char *at = *name + (is_complex ? strlen(complex_) : 0);
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        if (*at != scalars[i].letter)
            continue;
        *name = at + 1 + (is_complex ? strlen("EE") : 0);
        return scalars[i].size << is_complex;
    }
    return 0;
}

struct mt_filled mt_filled_of(const char *name)
{
    const struct kind *kind = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
    const char *found = NULL;
    while (name && kind < end && !(found = strstr(name, kind->name)))
        kind++;
    if (!found || kind->filled.rows)
        return found ? kind->filled : (struct mt_filled){0};
    struct mt_filled filled = kind->filled;
    found += strlen(kind->name);
    unsigned scalar = read_scalar(&found);
    unsigned long n = !strncmp(found, "Li", 2) ? strtoul(found + 2, NULL, 10) : 0;
    if (!n || n > 16)
        return (struct mt_filled){0};
    filled.rows = (uint8_t)(n + kind->more);
    filled.unit = (uint8_t)(filled.unit + 8 * n + scalar);
    return filled;
}

static unsigned tensor_of(const char *tensors, size_t width, unsigned block)
{
    uint16_t wide = (uint8_t)tensors[block * width];
    if (width == sizeof wide)
        memcpy(&wide, tensors + block * width, sizeof wide);
    return wide;
}

/* Behind the rows are the tensor and the chunk of each block of the grid, in the order of tensors.
 * A list that differs is of a version that is not known. */
static uint32_t count_tensors(const struct mt_filled *filled, const char *list, size_t size,
                              unsigned blocks, size_t *stride)
{
    static const struct {
        unsigned blocks;
        size_t width, size; /* of a tensor's number, of all */
    } limits[] = {{320, 1, 1600}, {2240, 2, 13440}};
    __typeof__(*limits) *limit = &limits[size > 13440];
    if (size < limit->size || !blocks || blocks > limit->blocks)
        return 0;
    size_t places = (size - limit->size) / filled->unit;
    size_t behind = (places * filled->unit + limit->width - 1) / limit->width * limit->width;
    unsigned last = 0;
    if (behind + limit->size > size)
        return 0;
    for (unsigned i = 0; i < blocks; i++) {
        unsigned tensor = tensor_of(list + behind, limit->width, i);
        if (tensor != last && (!i || tensor != last + 1))
            return 0;
        last = tensor;
    }
    *stride = places * sizeof(uint64_t);
    return last < places ? last + 1 : 0;
}

uint32_t mt_filled_count(const struct mt_filled *filled, const char *parameter, size_t size,
                         const unsigned grid[3], unsigned *rows, size_t *stride)
{
    *rows = filled->rows;
    *stride = 0;
    if (filled->counted == BY_CHUNKS)
        return count_tensors(filled, parameter, size, grid[0], stride);
    uint32_t n = grid[filled->counted == BY_HEIGHT];
    return n <= size / sizeof(uint64_t) ? n : 0;
}
