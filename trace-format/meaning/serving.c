/* SPDX-License-Identifier: Apache-2.0 */
#include "serving.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct mt_serving_name mt_serving_names[MT_SERVING_COUNT] = {
#define ROW(id, name, where) [MT_SERVING_##id] = {name, where},
    MT_SERVING_LIST(ROW)
#undef ROW
};

/* file: a part of the path. function: the last part of the qualified name. */
static const struct {
    const char *file, *function;
    enum mt_serving serving;
} table[] = {
    {"vllm/v1/worker/", "load_model", MT_SERVING_LOAD},
    {"vllm/v1/worker/", "profile_run", MT_SERVING_PROFILE},
    {"vllm/v1/worker/", "profile_cudagraph_memory", MT_SERVING_CAPTURE},
    {"vllm/v1/worker/", "capture_model", MT_SERVING_CAPTURE},
    {"vllm/v1/worker/", "initialize_kv_cache", MT_SERVING_CACHE},
    {"vllm/v1/worker/", "initialize_from_config", MT_SERVING_CACHE},
    {"vllm/v1/worker/", "compile_or_warm_up_model", MT_SERVING_WARM_UP},
    {"vllm/v1/worker/", "execute_model", MT_SERVING_STEP},
    {"vllm/v1/worker/", "sample_tokens", MT_SERVING_SAMPLING},
    {"sglang/srt/", "load_model", MT_SERVING_LOAD},
    {"sglang/srt/", "init_memory_pool", MT_SERVING_CACHE},
    {"sglang/srt/", "init_cuda_graphs", MT_SERVING_CAPTURE},
    {"sglang/srt/", "init_device_graphs", MT_SERVING_CAPTURE},
    {"sglang/srt/model_executor/", "forward_decode", MT_SERVING_DECODE},
    {"sglang/srt/model_executor/", "forward_extend", MT_SERVING_PREFILL},
    {"sglang/srt/model_executor/", "sample", MT_SERVING_SAMPLING},
};

enum mt_serving mt_serving_of(const char *function, const char *file)
{
    const char *dot = strrchr(function, '.'), *name = dot ? dot + 1 : function;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (*name == *table[i].function && !strcmp(name, table[i].function) &&
            strstr(file, table[i].file))
            return table[i].serving;
    return MT_SERVING_NONE;
}

enum mt_serving mt_serving_of_range(const char *name)
{
    static const char prefills[] = "execute_context_", decodes[] = "_generation_";
    const char *at = strstr(name, decodes);
    if (strncmp(name, prefills, sizeof prefills - 1) || !at)
        return MT_SERVING_NONE;
    if (strtoul(name + sizeof prefills - 1, NULL, 10))
        return MT_SERVING_PREFILL;
    return strtoul(at + sizeof decodes - 1, NULL, 10) ? MT_SERVING_DECODE : MT_SERVING_NONE;
}
