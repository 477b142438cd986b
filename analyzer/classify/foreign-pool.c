/* SPDX-License-Identifier: Apache-2.0 */
#include "classify.h"

#include <stdio.h>
#include <string.h>

#define LEAST_POOL (1ull << 30)

/* "platform", which was the way once, goes on with an arena in jax 0.10. */
#define XLAS "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false"

/* folder: of the library's frames. Each setting was tried, on the simulated device. The first of
 * several variables shows the blocks. */
static const struct {
    const char *folder, *package, *setting;
} table[] = {
    {"/jax/", "jax", XLAS},
    {"/jaxlib/", "jax", XLAS},
    {"/tensorflow/", "tensorflow", "TF_GPU_ALLOCATOR=cuda_malloc_async"},
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

/* Return the row of the innermost frame that is a library's; the table's size: none. */
static size_t row_of(const struct mt_definitions *definitions, uint32_t stack)
{
    const size_t n = sizeof table / sizeof *table;
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent)
        for (size_t i = 0; i < n; i++)
            if (strstr(mt_stack_frame(definitions, stack)->file, table[i].folder))
                return i;
    return n;
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
    if (!largest || largest->size < LEAST_POOL || largest->size < sum / 2)
        return (struct mt_foreign_pool){0};
    size_t row = row_of(definitions, largest->stack);
    if (row == sizeof table / sizeof *table || is_set(definitions, row))
        return (struct mt_foreign_pool){0};
    return (struct mt_foreign_pool){largest->size, table[row].package, table[row].setting};
}
