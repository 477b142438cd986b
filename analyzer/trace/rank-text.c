/* SPDX-License-Identifier: Apache-2.0 */
#include "definitions.h"

#include <string.h>

/* Older traces only have torchrun's variables. */
static const char *const rank_keys[] = {"rank", "env.RANK"};
static const char *const world_size_keys[] = {"world_size", "env.WORLD_SIZE"};

static const char *first_of(const struct mt_definitions *definitions, const char *const keys[2])
{
    const char *value = mt_info(definitions, keys[0]);
    return value ? value : mt_info(definitions, keys[1]);
}

const char *mt_rank_text(const struct mt_definitions *definitions)
{
    return first_of(definitions, rank_keys);
}

const char *mt_world_size_text(const struct mt_definitions *definitions)
{
    return first_of(definitions, world_size_keys);
}

const char *mt_stands_for_text(const struct mt_definitions *definitions)
{
    return mt_info(definitions, "env.CUDASIM_STANDS_FOR");
}

bool mt_names_rank(const struct mt_definition *definition, const char **value, size_t *size)
{
    if (definition->kind != MT_DEF_INFO)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        size_t n = strlen(rank_keys[i]);
        if (definition->text_size <= n || memcmp(definition->text, rank_keys[i], n) ||
            definition->text[n] != '=')
            continue;
        *value = definition->text + n + 1;
        *size = definition->text_size - n - 1;
        return true;
    }
    return false;
}
