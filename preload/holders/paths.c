/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/python/tensor.h"
#include "python-graph.h"
#include "steps.h"
#include "torch-graph.h"

#include <stdio.h>

/* A longer path is shortened in the middle. */
#define MOST_BEGIN 40u
#define MOST_END 20u
#define MOST_NODES (MOST_BEGIN + MOST_END)
#define MOST_CYCLE 16u /* steps of a cycle that are named */

struct chain {
    uint32_t node[MOST_NODES]; /* from the root on */
    uint32_t n, left_out;      /* left_out: nodes before the last MOST_END */
    uint32_t root;
};

/* Memory that only the child has. */
static struct {
    struct mt_path path, step;
    struct chain chain;
    struct mt_py_dict entries;
} *own;

static bool is_graph(uint32_t node)
{
    return mt_picture.sort[node] == MT_NODE_GRAPH || mt_picture.sort[node] == MT_NODE_CHUNK;
}

/* Return whether a node is named on a path: of autograd's nodes the first and the last. */
static bool is_named(uint32_t node, uint32_t child)
{
    uint32_t parent = mt_picture.parent[node];
    return !(is_graph(node) && child != MT_NO_NODE && is_graph(child) && !(parent & MT_ROOT_BIT) &&
             is_graph(parent));
}

/* Call with each named node, the last first. Return the root. */
static uint32_t follow(uint32_t node, void (*call)(void *data, uint32_t node), void *data)
{
    for (uint32_t child = MT_NO_NODE; !(node & MT_ROOT_BIT);
         child = node, node = mt_picture.parent[node])
        if (is_named(node, child))
            call(data, node);
    return node & ~MT_ROOT_BIT;
}

static void count(void *data, uint32_t node)
{
    (void)node;
    ++*(uint32_t *)data;
}

struct filling {
    struct chain *chain;
    uint32_t left, of; /* nodes to come, of all */
};

static void fill(void *data, uint32_t node)
{
    struct filling *filling = data;
    struct chain *chain = filling->chain;
    uint32_t at = --filling->left, n = filling->of;
    if (n > MOST_NODES && at >= MOST_BEGIN && at < n - MOST_END)
        return;
    chain->node[n > MOST_NODES && at >= MOST_BEGIN ? at - (n - MOST_NODES) : at] = node;
}

static void read_chain(uint32_t node, struct chain *chain)
{
    uint32_t n = 0;
    chain->root = follow(node, count, &n);
    follow(node, fill, &(struct filling){chain, n, n});
    chain->n = n < MOST_NODES ? n : MOST_NODES;
    chain->left_out = n - chain->n;
}

static void object_type(uint64_t object, char *out, size_t size)
{
    if (mt_py_type_name_alive(object, out, size))
        strcpy(out, "object");
}

/* Add a module's variable. Return the number of nodes that it covers. */
static unsigned put_global(struct mt_path *path, const struct mt_picture_root *root,
                           const uint32_t *node, unsigned n)
{
    struct mt_py_entry name;
    char module[96] = "", format[128];
    path->root = MT_HOLDER_GLOBAL;
    if (!mt_py_dict_open_alive(mt_holder_python.layout, root->address, &own->entries) &&
        !mt_py_dict_find(mt_holder_python.layout, &own->entries, "__name__", &name))
        mt_py_text(mt_holder_python.layout, name.value, module, sizeof module);
    for (char *c = module; *c; c++)
        *c = *c == '%' ? '?' : *c;
    snprintf(format, sizeof format, *module ? "global `%%s` of module %s" : "variable `%%s`%s",
             module);
    mt_step_begin(path);
    size_t begin = path->n;
    if (n < 2 || !mt_step_key(path, root->address, mt_picture.address[node[1]], format)) {
        mt_step_put(path, *module ? "module %s" : "a module%s", module);
        return 0;
    }
    if (!strncmp(path->text + begin, "global `Out`", 12) ||
        !strncmp(path->text + begin, "global `_oh`", 12))
        path->root = MT_HOLDER_NOTEBOOK;
    return 1;
}

/* Add a value of a threading.local: three nodes precede the value itself. */
static unsigned put_thread(struct mt_path *path, const uint32_t *node, unsigned n)
{
    enum { LOCAL_DICT = 2, VALUE = 3 };
    path->root = MT_HOLDER_THREAD;
    mt_step_begin(path);
    if (n > VALUE && mt_step_key(path, mt_picture.address[node[LOCAL_DICT]],
                                 mt_picture.address[node[VALUE]], "thread local `%s`"))
        return VALUE;
    mt_step_put(path, "thread state");
    return 0;
}

/* Add a cycle: "reference cycle Node.child.parent". */
static void put_cycle(struct mt_path *path, uint32_t node)
{
    struct mt_path *step = &own->step;
    char type[96];
    uint32_t cycle[MOST_CYCLE + 1], n = 0, at = node;
    for (; n < MOST_CYCLE && (n == 0 || at != node); at = mt_cycle_referrer(at))
        cycle[n++] = at;
    path->root = MT_HOLDER_GARBAGE;
    mt_step_begin(path);
    object_type(mt_picture.address[node], type, sizeof type);
    mt_step_put(path, "reference cycle of %s", type);
    if (at != node)
        return;
    uint32_t forward[MOST_CYCLE + 1];
    forward[0] = forward[n] = node;
    for (uint32_t i = 1; i < n; i++)
        forward[i] = cycle[n - i];
    for (uint32_t i = 0; i < n;) {
        step->n = 0;
        step->root = MT_HOLDER_UNKNOWN;
        i += mt_step_add(step, forward + i, n + 1 - i);
        mt_step_put(path, "%s%.*s", step->n && *step->text != '.' && *step->text != '[' ? ", " : "",
                    (int)step->n, step->text);
    }
}

/* Add the root of a path. Return the number of nodes that it covers. */
static unsigned put_root(struct mt_path *path, const struct chain *chain)
{
    static const char *const last[] = {"sys.last_exc", "sys.last_value", "sys.last_traceback"};
    const struct mt_picture_root *root = &mt_picture.root[chain->root];
    char type[96];
    switch (root->sort) {
    case MT_ROOT_FRAME:
    case MT_ROOT_STACK:
        path->root = MT_HOLDER_LOCAL;
        mt_step_variable(path, root->sort == MT_ROOT_FRAME ? "local variable" : "temporary value",
                         root->address, root->sort == MT_ROOT_FRAME ? root->index : UINT32_MAX,
                         "of");
        return 0;
    case MT_ROOT_GLOBALS:
        return put_global(path, root, chain->node, chain->n);
    case MT_ROOT_HANDLED:
    case MT_ROOT_RAISED:
        path->root = MT_HOLDER_TRACEBACK;
        object_type(root->address, type, sizeof type);
        mt_step_put(path, "%s that is being %s", type,
                    root->sort == MT_ROOT_HANDLED ? "handled" : "raised");
        return 0;
    case MT_ROOT_LAST:
        path->root = MT_HOLDER_LAST_ERROR;
        mt_step_put(path, "%s", last[root->address]);
        return 0;
    case MT_ROOT_THREAD:
        return put_thread(path, chain->node, chain->n);
    case MT_ROOT_AUTOCAST:
        path->root = MT_HOLDER_AUTOCAST;
        mt_step_put(path, "autocast's cache of weights");
        return 0;
    case MT_ROOT_CYCLE:
        put_cycle(path, (uint32_t)root->address);
        return 0;
    case MT_ROOT_NATIVE:
        break;
    }
    path->root = MT_HOLDER_NATIVE;
    object_type(mt_picture.address[chain->node[0]], type, sizeof type);
    mt_step_put(path, "native code that holds a %s", type);
    return 0;
}

static void write_path(struct mt_path *path, const struct chain *chain)
{
    uint32_t cut = chain->left_out ? MOST_BEGIN - 1 : UINT32_MAX;
    for (uint32_t i = put_root(path, chain); i + 1 < chain->n;) {
        uint32_t on = 1;
        if (i == cut) { /* the next one is not reached from this one */
            mt_step_begin(path);
            mt_step_put(path, "%u more steps", chain->left_out);
        } else {
            on = mt_step_add(path, chain->node + i,
                             i < cut && cut != UINT32_MAX ? cut + 1 - i : chain->n - i);
        }
        i += on;
    }
}

/* Return the bytes of a view that is smaller than its storage; 0 if it is not, or unknown. */
static uint64_t view_bytes(uint64_t impl, uint64_t storage_bytes)
{
    const void *at = (const void *)(uintptr_t)impl;
    uint64_t elements = mt_impl_elements(at);
    uint64_t bytes =
        elements && mt_dtype_offset > 0 ? (elements * mt_dtype_bits(mt_impl_dtype(at)) + 7) / 8 : 0;
    return bytes < storage_bytes ? bytes : 0;
}

static uint64_t storage_bytes(uint64_t storage)
{
    enum { SIZE = 32 }; /* after its DataPtr */
    return mt_word(storage + (unsigned)mt_torch_head + SIZE);
}

static bool put_text(struct mt_holders_answer *answer, struct mt_holders_row *holder,
                     const struct mt_path *path)
{
    if (path->n > MT_HOLDERS_TEXT - answer->text_used)
        return false;
    holder->text_at = answer->text_used;
    holder->text_size = (uint32_t)path->n;
    memcpy(answer->text + answer->text_used, path->text, path->n);
    answer->text_used += holder->text_size;
    return true;
}

/* Write the path to a storage. Return whether there was room. */
static bool write_holder(struct mt_holders_answer *answer, uint32_t node)
{
    struct mt_path *path = &own->path;
    uint64_t storage = mt_picture.address[node];
    struct mt_holders_row *holder = &answer->holder[answer->n];
    struct mt_tensor_data place = mt_storage_place((const char *)(uintptr_t)storage, mt_torch_head);
    uint32_t parent = mt_picture.parent[node];
    path->n = 0;
    path->root = MT_HOLDER_UNKNOWN;
    holder->address = place.address;
    holder->device = place.device;
    holder->view = 0;
    if (!(parent & MT_ROOT_BIT) && mt_picture.sort[parent] == MT_NODE_IMPL)
        holder->view = view_bytes(mt_picture.address[parent], storage_bytes(storage));
    read_chain(node, &own->chain);
    write_path(path, &own->chain);
    holder->root = (uint32_t)path->root;
    if (!put_text(answer, holder, path))
        return false;
    answer->n++;
    return true;
}

/* Return the bytes that a reached node, if it is a storage, has on a CUDA device; else 0. */
static uint64_t bytes_on_device(uint32_t node)
{
    volatile uint64_t bytes = 0;
    if (mt_picture.sort[node] != MT_NODE_STORAGE ||
        !(mt_picture.flags[node] & MT_NODE_IS_REACHED) || !mt_torch_head)
        return 0;
    if (MT_MAY_CRASH()) {
        uint64_t storage = mt_picture.address[node];
        if (mt_storage_place((const char *)(uintptr_t)storage, mt_torch_head).address)
            bytes = storage_bytes(storage);
        mt_crash_over();
    }
    return bytes;
}

/* Count storages by the bit lengths of their sizes. Return the smallest size for which all of that
 * size or more have room. */
static uint64_t least_with_room(void)
{
    uint64_t n[65] = {0}, sum = 0;
    for (uint32_t node = 0; node < mt_picture.n; node++) {
        uint64_t bytes = bytes_on_device(node);
        n[bytes ? 64 - __builtin_clzll(bytes) : 0]++;
    }
    for (unsigned bits = 64; bits; bits--) {
        sum += n[bits];
        if (sum > MT_MOST_HOLDERS)
            return bits == 64 ? UINT64_MAX : UINT64_C(1) << bits;
    }
    return 1;
}

bool mt_paths_write(struct mt_holders_answer *answer)
{
    uint64_t least = least_with_room();
    volatile bool has_room = least == 1;
    own = mt_map(sizeof *own);
    if (!own)
        return false;
    for (uint32_t node = 0; node < mt_picture.n; node++) {
        if (bytes_on_device(node) < least || !bytes_on_device(node))
            continue;
        if (MT_MAY_CRASH()) {
            has_room &= write_holder(answer, node);
            mt_crash_over();
        }
    }
    return has_room;
}
