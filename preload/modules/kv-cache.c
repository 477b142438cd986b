/* SPDX-License-Identifier: Apache-2.0 */
#include "kv-cache.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"
#include "preload/record/scan.h"

#include <stddef.h>
#include <string.h>

static const struct mt_py_class bases[] = {
    {"transformers.cache_utils", "Cache"},
    {"transformers.cache_utils", "CacheLayerMixin"},
    {"transformers.cache_utils", "LinearAttentionCacheLayerMixin"},
    {"sglang.srt.mem_cache.memory_pool", "KVCache"},
};

/* vLLM's: the two versions of its runner. */
static const struct mt_py_class runners[] = {
    {"vllm.v1.worker.gpu_model_runner", "GPUModelRunner"},
    {"vllm.v1.worker.gpu.model_runner", "GPUModelRunner"},
};

/* Beginnings of the names of methods that allocate what a cache keeps, including what they call.
 * Thus the classes of few objects are read. */
static const char *const methods[] = {
    "update",   "lazy_initialization", "early_initialization", "reorder_cache", "crop", "batch_",
    "__init__", "_create_buffers",
};

static const char runners_method[] = "initialize_kv_cache";

static const struct mt_python_layout *layout;

void mt_kv_caches_start(const struct mt_python_layout *of_this_python)
{
    layout = of_this_python;
}

unsigned mt_kv_cache_work(uint64_t code, uint64_t object)
{
    char function[64];
    size_t size =
        mt_py_utf8(layout, mt_py_word(code, layout->code_name), function, sizeof function - 1);
    function[size] = '\0';
    const char *dot = strrchr(function, '.'), *last = dot ? dot + 1 : function;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strncmp(last, methods[i], strlen(methods[i])))
            return mt_py_derives(layout, object, bases, sizeof bases / sizeof *bases)
                       ? MT_MAKES_CACHE
                       : 0;
    return !strcmp(last, runners_method) &&
                   mt_py_derives(layout, object, runners, sizeof runners / sizeof *runners)
               ? MT_MAKES_ROOM
               : 0;
}

struct room {
    uint64_t tokens, longest, each;
};

/* Return an attribute of an object, or 0. */
static uint64_t attribute(uint64_t object, const char *name)
{
    struct mt_py_dict attributes;
    struct mt_py_entry entry;
    struct mt_py_proof unused;
    return mt_py_attributes(layout, object, &attributes, &unused) ||
                   mt_py_dict_find(layout, &attributes, name, &entry)
               ? 0
               : entry.value;
}

/* Return an attribute that is a number, or 0. */
static uint64_t number(uint64_t object, const char *name)
{
    uint64_t value = attribute(object, name), n;
    return value && !mt_py_product(layout, value, &n) ? n : 0;
}

/* Return whether a sequence keeps the blocks of all of its tokens: beyond a window it frees them.
 */
static bool keeps_all(uint64_t spec)
{
    char class[32];
    return !mt_py_type_name(spec, class, sizeof class) &&
           (!strcmp(class, "FullAttentionSpec") || !strcmp(class, "MLAAttentionSpec"));
}

/* Read vLLM's blocks. Layers of different groups use blocks of their own from the same memory. */
static struct room room_of_blocks(uint64_t runner)
{
    uint64_t config = attribute(runner, "kv_cache_config"), group, n_groups = 0, spec = 0;
    uint64_t groups = attribute(config, "kv_cache_groups");
    if (groups && mt_py_sort(groups) == MT_PY_LIST)
        groups = mt_py_items(groups, &n_groups);
    if (n_groups && !mt_py_read(groups, &group))
        spec = attribute(group, "kv_cache_spec");
    struct room room = {.longest = number(runner, "max_model_len")};
    uint64_t blocks = number(config, "num_blocks"), size = spec ? number(spec, "block_size") : 0;
    if (!size || blocks >> 40 || size >> 20 || room.longest >> 40)
        return (struct room){0};
    uint64_t each = (room.longest + size - 1) / size; /* blocks */
    if (n_groups == 1 && keeps_all(spec))
        return (struct room){blocks * size, room.longest, each * size};
    room.tokens = each ? blocks / n_groups / each * room.longest : blocks / n_groups * size;
    return room;
}

/* Read the shape of a layer's keys: sequences, heads, tokens, width of a head. */
static struct room room_of_shape(const void *keys)
{
    uint64_t shape[4];
    if (mt_impl_shape_carefully(keys, shape, 4) != 4)
        return (struct room){0};
    return (struct room){shape[0] * shape[2], shape[2], shape[2]};
}

void mt_kv_cache_note_room(struct mt_thread *self, int device, uint64_t object, uint64_t address)
{
    struct room room = {0};
    uint64_t keys;
    static struct mt_scan_pieces last;
    bool has_begun = mt_scan_begin(&last);
    if ((keys = attribute(object, "keys"))) { /* of a layer of transformers */
        struct mt_py_tensor tensor = mt_py_tensor(keys);
        room = tensor.place.address ? room_of_shape(tensor.impl) : room;
        address = tensor.place.address;
        device = tensor.place.device;
    } else if (attribute(object, "kv_cache_config")) {
        room = room_of_blocks(object);
    } else if (number(object, "page_size")) { /* SGLang's pool */
        room.tokens = number(object, "size");
    }
    mt_scan_end(has_begun, &last);
    if (room.tokens)
        mt_record(self, MT_ROOM, device, 0, MT_ARGS(address, room.tokens, room.longest, room.each));
}
