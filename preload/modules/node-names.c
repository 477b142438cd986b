/* SPDX-License-Identifier: Apache-2.0 */
#include "node-names.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"

#include <string.h>

static MT_HOT struct mt_cache names;

/* Return a type's name. Itanium ABI: the word before the vtable is the std::type_info, whose second
 * word is the name. */
static const char *type_name(const void *vtable)
{
    const char *const *type = ((const char *const *const *)vtable)[-1];
    const char *name = type ? type[1] : NULL;
    return name && *name == '*' ? name + 1 : name; /* '*' marks a type local to its library */
}

static uint32_t intern(const struct mt_key *key, const char *name)
{
    if (!mt_intern_lock())
        return 0;
    uint32_t id = mt_cache_find(&names, key);
    if (!id) {
        id = mt_intern_string(name, strlen(name));
        if (id)
            mt_cache_add(&names, key, id);
    }
    mt_intern_unlock();
    return id;
}

MT_HOT_CODE uint32_t mt_node_name(struct mt_thread *self, const void *node)
{
    const void *vtable;
    memcpy(&vtable, node, sizeof vtable);
    /* A vtable lives as long as its library, so its address identifies the type. */
    struct mt_key key = {.a = (uint64_t)(uintptr_t)vtable};
    struct mt_node_type *type = &self->nodes.type[(key.a >> 4 ^ key.a >> 10) % MT_NODE_TYPES];
    if (MT_LIKELY(type->vtable == key.a))
        return type->name;
    uint32_t id = mt_cache_find(&names, &key);
    const char *name = id ? NULL : type_name(vtable);
    if (name)
        id = intern(&key, name);
    if (id) {
        type->vtable =
            0; /* a signal handler that jumps away must not leave a type with another's name */
        atomic_signal_fence(memory_order_seq_cst);
        type->name = id;
        atomic_signal_fence(memory_order_seq_cst);
        type->vtable = key.a;
    }
    return id;
}

void mt_node_names_reset(void)
{
    mt_cache_reset(&names);
}
