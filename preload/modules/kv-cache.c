/* SPDX-License-Identifier: Apache-2.0 */
#include "kv-cache.h"
#include "preload/python/python-code.h"
#include "preload/python/python-objects.h"

#include <stddef.h>
#include <string.h>

static const struct mt_py_class bases[] = {
    {"transformers.cache_utils", "Cache"},
    {"transformers.cache_utils", "CacheLayerMixin"},
    {"transformers.cache_utils", "LinearAttentionCacheLayerMixin"},
    {"sglang.srt.mem_cache.memory_pool", "KVCache"},
};

/* Beginnings of the names of methods that make what a cache keeps: what they call belongs to them.
 * So the classes of few objects are read. */
static const char *const methods[] = {
    "update",   "lazy_initialization", "early_initialization", "reorder_cache", "crop", "batch_",
    "__init__", "_create_buffers",
};

static const struct mt_python_layout *layout;

void mt_kv_caches_start(const struct mt_python_layout *of_this_python)
{
    layout = of_this_python;
}

bool mt_is_of_kv_cache(uint64_t code, uint64_t object)
{
    char function[64];
    size_t size =
        mt_py_utf8(layout, mt_py_word(code, layout->code_name), function, sizeof function - 1);
    function[size] = '\0';
    const char *dot = strrchr(function, '.'), *last = dot ? dot + 1 : function;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strncmp(last, methods[i], strlen(methods[i])))
            return mt_py_derives(layout, object, bases, sizeof bases / sizeof *bases);
    return false;
}
