/* SPDX-License-Identifier: Apache-2.0 */
#include "recorded-conf.h"

const char *mt_recorded_conf(const struct mt_definitions *definitions)
{
    struct mt_torch_release release;
    const char *torch = mt_info(definitions, "torch");
    const char *conf = mt_info(definitions, "env.PYTORCH_ALLOC_CONF");
    bool reads_new = !torch || !mt_torch_read_release(torch, &release) ||
                     mt_torch_has(release, MT_HAS_ALLOC_CONF);
    return conf && reads_new ? conf : mt_info(definitions, "env.PYTORCH_CUDA_ALLOC_CONF");
}

void mt_setup_of(struct mt_recorded_setup *setup, const char *torch, const char *conf)
{
    *setup = (struct mt_recorded_setup){.release = {2, 15}};
    setup->knows_release = torch && mt_torch_read_release(torch, &setup->release);
    mt_alloc_conf_init(&setup->conf);
    if (conf)
        mt_alloc_conf_read(&setup->conf, setup->release, conf, &setup->problem);
}

void mt_recorded_setup(struct mt_recorded_setup *setup, const struct mt_definitions *definitions)
{
    mt_setup_of(setup, mt_info(definitions, "torch"), mt_recorded_conf(definitions));
}
