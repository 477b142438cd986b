/* SPDX-License-Identifier: Apache-2.0 */
#include "catalogue.h"

#include <strings.h>

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)

/* Names such as a100-80g are not C tokens, so they are only ever used as strings. */
static const struct sim_gpu gpus[] = {
#define SIM_GPU(gpu_name, gpu_product, cc_major, cc_minor, sm_count, l2_mib, memory_mib,           \
                board_mib, context_mib, threads, blocks, shared_sm, shared_block, bus,             \
                memory_clock, core, gpu_source)                                                    \
    {                                                                                              \
        .name = #gpu_name,                                                                         \
        .product = gpu_product,                                                                    \
        .major = cc_major,                                                                         \
        .minor = cc_minor,                                                                         \
        .sms = sm_count,                                                                           \
        .l2 = MIB(l2_mib),                                                                         \
        .memory = MIB(memory_mib),                                                                 \
        .board = MIB(board_mib),                                                                   \
        .context = (uint64_t)((context_mib) * 1048576.0),                                          \
        .threads_per_sm = threads,                                                                 \
        .blocks_per_sm = blocks,                                                                   \
        .shared_per_sm = KIB(shared_sm),                                                           \
        .shared_per_block = KIB(shared_block),                                                     \
        .bus_bits = bus,                                                                           \
        .memory_khz = memory_clock,                                                                \
        .core_khz = core,                                                                          \
        .source = gpu_source,                                                                      \
    },
#define SIM_GPU_ALIAS(alias, name)
#include "gpus.def"
};

static const struct {
    const char *alias, *name;
} aliases[] = {
#define SIM_GPU(name, ...)
#define SIM_GPU_ALIAS(alias_name, gpu_name) {#alias_name, #gpu_name},
#include "gpus.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct sim_gpu *by_name(const char *name)
{
    for (size_t i = 0; i < COUNT(gpus); i++)
        if (!strcasecmp(gpus[i].name, name))
            return &gpus[i];
    return NULL;
}

const struct sim_gpu *sim_gpu_listed(const char *name)
{
    const struct sim_gpu *gpu = by_name(name);
    for (size_t i = 0; !gpu && i < COUNT(aliases); i++)
        if (!strcasecmp(aliases[i].alias, name))
            gpu = by_name(aliases[i].name);
    return gpu;
}

const struct sim_gpu *sim_gpu_default(void)
{
    return by_name("rtx4090");
}

const struct sim_gpu *sim_gpu_at(size_t index)
{
    return index < COUNT(gpus) ? &gpus[index] : NULL;
}

const char *sim_gpu_alias_at(size_t index, const struct sim_gpu **gpu)
{
    if (index >= COUNT(aliases))
        return NULL;
    *gpu = by_name(aliases[index].name);
    return aliases[index].alias;
}
