/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LEAST_POOL (1ull << 30)
#define LEAST_PIECE (1ull << 20) /* pieces pieces of a pool that doubles */

/* Since jax 0.10, the old setting "platform" keeps using an arena. */
#define XLAS "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false"

static const char environment[] = "the environment", each[] = "each block";

/* folder: contained in the library's frames. Each setting was tested on the simulated device.
 * doubles: grows by powers of two, and is not configured by the environment. */
static const struct {
    const char *folder, *package, *setting, *place, *effect;
    bool doubles;
} table[] = {
    {"/jax/", "jax", XLAS, environment, each, false},
    {"/jaxlib/", "jax", XLAS, environment, each, false},
    {"/tensorflow/", "tensorflow", "TF_GPU_ALLOCATOR=cuda_malloc_async", environment, each, false},
    {"/onnxruntime/", "onnxruntime", "arena_extend_strategy=kSameAsRequested",
     "the options of CUDAExecutionProvider", "each block that finds no room", true},
};

static bool is_set(const struct mt_definitions *definitions, size_t row)
{
    const char *setting = table[row].setting, *equals = strchr(setting, '=');
    char key[64];
    snprintf(key, sizeof key, "env.%.*s", (int)(equals - setting), setting);
    const char *value = mt_info(definitions, key);
    size_t size = strcspn(equals + 1, " ");
    return value && strlen(value) == size && !strncmp(value, equals + 1, size);
}

/* Return the row of the innermost library frame; the table's size: none. */
static size_t row_of(const struct mt_definitions *definitions, uint32_t stack)
{
    const size_t n = sizeof table / sizeof *table;
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent)
        for (size_t i = 0; i < n; i++)
            if (strstr(mt_stack_frame(definitions, stack)->file, table[i].folder))
                return i;
    return n;
}

static struct mt_foreign_pool pool_of(size_t row, uint64_t bytes, size_t pieces)
{
    return (struct mt_foreign_pool){
        bytes, pieces, table[row].package, table[row].setting, table[row].place, table[row].effect};
}

/* Find a doubling pool: all pieces are powers of two and not all of one size, unlike single blocks.
 */
static struct mt_foreign_pool find_pieces(const struct mt_definitions *definitions,
                                          const struct mt_verdict *verdicts, size_t n, size_t row)
{
    uint64_t bytes = 0, sizes = 0;
    size_t pieces = 0;
    for (size_t i = 0; i < n; i++) {
        const struct mt_block *block = verdicts[i].block;
        if (row_of(definitions, block->stack) != row)
            continue;
        if (block->size < LEAST_PIECE || block->size & (block->size - 1))
            return (struct mt_foreign_pool){0};
        bytes += block->size;
        sizes |= block->size;
        pieces++;
    }
    return sizes & (sizes - 1) ? pool_of(row, bytes, pieces) : (struct mt_foreign_pool){0};
}

struct mt_foreign_pool mt_foreign_pool_find(const struct mt_definitions *definitions,
                                            const struct mt_verdict *verdicts, size_t n)
{
    const struct mt_block *largest = NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += verdicts[i].block->size;
        if (!largest || verdicts[i].block->size > largest->size)
            largest = verdicts[i].block;
    }
    size_t row = largest ? row_of(definitions, largest->stack) : sizeof table / sizeof *table;
    if (row == sizeof table / sizeof *table)
        return (struct mt_foreign_pool){0};
    if (table[row].doubles)
        return find_pieces(definitions, verdicts, n, row);
    if (largest->size < LEAST_POOL || largest->size < sum / 2 || is_set(definitions, row))
        return (struct mt_foreign_pool){0};
    return pool_of(row, largest->size, 1);
}
