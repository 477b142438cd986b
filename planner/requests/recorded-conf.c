/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded-conf.h"
#include "planner/allocator/releases.h"

const char *mt_recorded_conf(const struct mt_definitions *definitions)
{
    struct mt_torch_release release;
    const char *torch = mt_info(definitions, "torch");
    const char *conf = mt_info(definitions, "env.PYTORCH_ALLOC_CONF");
    bool reads_new = !torch || !mt_torch_read_release(torch, &release) ||
                     mt_torch_has(release, MT_HAS_ALLOC_CONF);
    return conf && reads_new ? conf : mt_info(definitions, "env.PYTORCH_CUDA_ALLOC_CONF");
}
