/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include <stdatomic.h>
#include <string.h>

/* --- the list ------------------------------------------------------------------------------ */

const struct sim_listed *sim_next_operator(const struct sim_listed *node)
{
    const struct sim_listed *head = sim_torch_operators();

    return node->next == head ? NULL : node->next;
}

const struct sim_listed *sim_first_operator(void)
{
    return sim_next_operator(sim_torch_operators());
}

const char *sim_operator_overload(const char *entry)
{
    return (const char *)sim_field(entry, sim_layout.name / 2);
}

const char *sim_find_operator(const char *name, const char *overload)
{
    for (const struct sim_listed *node = sim_first_operator(); node; node = sim_next_operator(node))
        if (!strcmp(sim_operator_name(node->entry), name) &&
            !strcmp(sim_operator_overload(node->entry), overload))
            return node->entry;
    return NULL;
}

/* --- schemas ------------------------------------------------------------------------------- */

enum { ALIAS_FROM_END = 16, WRITES_AT = 2 * 56 + 24 }; /* AliasInfo: two sets, a vector, a flag */

struct vector {
    const char *begin, *end;
};

static struct vector vector_at(const char *entry, size_t offset)
{
    struct vector vector;

    memcpy(&vector, entry + offset, sizeof(vector));
    return vector;
}

static const char *alias_of(const char *argument)
{
    return (const char *)sim_field(argument, sim_layout.argument - ALIAS_FROM_END);
}

size_t sim_arguments(const char *entry)
{
    struct vector all = vector_at(entry, sim_layout.schema);

    return (size_t)(all.end - all.begin) / sim_layout.argument;
}

size_t sim_results(const char *entry)
{
    struct vector all = vector_at(entry, sim_layout.schema + 24);

    return (size_t)(all.end - all.begin) / sim_layout.argument;
}

const char *sim_argument_name(const char *entry, size_t argument)
{
    struct vector all = vector_at(entry, sim_layout.schema);

    return (const char *)sim_field(all.begin + argument * sim_layout.argument, 0);
}

bool sim_writes(const char *entry, size_t argument)
{
    struct vector all = vector_at(entry, sim_layout.schema);
    const char *alias = alias_of(all.begin + argument * sim_layout.argument);

    return alias && alias[WRITES_AT];
}

bool sim_makes_view(const char *entry)
{
    struct vector all = vector_at(entry, sim_layout.schema + 24);

    for (const char *result = all.begin; result < all.end; result += sim_layout.argument) {
        const char *alias = alias_of(result);

        if (alias && !alias[WRITES_AT])
            return true;
    }
    return false;
}

void sim_put_kernel(char *slot, sim_boxed *kernel)
{
    /* Without an unboxed function the dispatcher calls the boxed one. */
    atomic_store_explicit((_Atomic(sim_boxed *) *)(slot + 8), kernel, memory_order_release);
    atomic_store_explicit((_Atomic(void *) *)(slot + 24), NULL, memory_order_release);
    atomic_store_explicit((_Atomic(void *) *)(slot + 16), NULL, memory_order_release);
}
