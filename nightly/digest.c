/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include <stdlib.h>
#include <string.h>

static void clear_shares(struct mt_digest_shares *shares)
{
    for (size_t i = 0; i < shares->n; i++)
        free(shares->share[i].name);
    free(shares->share);
}

static void clear_site(struct mt_digest_site *site)
{
    free(site->function);
    free(site->file);
    free(site->operator_name);
    free(site->module);
    free(site->stack);
}

static void clear_device(struct mt_digest_device *device)
{
    for (size_t i = 0; i < device->n_sites; i++)
        clear_site(&device->site[i]);
    free(device->site);
    clear_shares(&device->modules);
    clear_shares(&device->operators);
}

void mt_digest_clear(struct mt_digest *digest)
{
    char *texts[] = {digest->path,        digest->program, digest->command, digest->host,
                     digest->device_name, digest->torch,   digest->cuda,    digest->python,
                     digest->memtap,      digest->fault};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < digest->n_devices; i++)
        clear_device(&digest->devices[i]);
    free(digest->devices);
    memset(digest, 0, sizeof *digest);
}

const struct mt_digest_device *mt_digest_main_device(const struct mt_digest *digest)
{
    const struct mt_digest_device *most = NULL;
    for (size_t i = 0; i < digest->n_devices; i++)
        if (!most || digest->devices[i].allocated > most->allocated)
            most = &digest->devices[i];
    return most;
}
