/* SPDX-License-Identifier: Apache-2.0 */
#include "node-names.h"
#include "cache.h"
#include "intern.h"

#include <string.h>

static struct mt_cache names;

/* Itanium ABI: the word before the vtable is the std::type_info, whose second word is the name. It
 * lives as long as its library does, so its address is its identity. */
static const char *type_name(const void *node)
{
    const char *const *const *vtable;
    memcpy(&vtable, node, sizeof vtable);
    const char *const *type = vtable[-1];
    return type ? type[1] : NULL;
}

uint32_t mt_node_name(const void *node)
{
    const char *name = type_name(node);
    struct mt_key key = {.a = (uint64_t)(uintptr_t)name};
    if (!name)
        return 0;
    uint32_t id = mt_cache_find(&names, &key);
    if (id)
        return id;
    mt_intern_lock();
    id = mt_cache_find(&names, &key);
    if (!id) {
        if (*name == '*') /* marks a type that is local to its library */
            name++;
        id = mt_intern_string(name, strlen(name));
        if (id)
            mt_cache_add(&names, &key, id);
    }
    mt_intern_unlock();
    return id;
}

void mt_node_names_reset(void)
{
    mt_cache_reset(&names);
}
