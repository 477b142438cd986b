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

void mt_digest_site_clear(struct mt_digest_site *site)
{
    free(site->function);
    free(site->file);
    free(site->operator_name);
    free(site->module);
    free(site->stack);
    free(site->saver.function);
    free(site->saver.file);
}

void mt_digest_place_clear(struct mt_digest_place *place)
{
    free(place->function);
    free(place->file);
    free(place->operator_name);
}

static void clear_device(struct mt_digest_device *device)
{
    for (size_t i = 0; i < device->n_sites; i++)
        mt_digest_site_clear(&device->site[i]);
    free(device->site);
    mt_digest_site_clear(&device->grows);
    for (size_t i = 0; i < device->n_places; i++)
        mt_digest_place_clear(&device->place[i]);
    free(device->place);
    for (size_t i = 0; i < device->n_held; i++) {
        free(device->held[i].function);
        free(device->held[i].file);
        free(device->held[i].operator_name);
        mt_held_most_clear(&device->held[i].most);
    }
    free(device->held);
    clear_shares(&device->modules);
    clear_shares(&device->operators);
    clear_shares(&device->ranges);
    clear_shares(&device->stacks);
}

void mt_digest_clear(struct mt_digest *digest)
{
    char *texts[] = {digest->path,        digest->program, digest->command,   digest->host,
                     digest->device_name, digest->torch,   digest->cuda,      digest->python,
                     digest->memtap,      digest->fault,   digest->allocator, digest->unsimulated,
                     digest->title};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < digest->n_devices; i++)
        clear_device(&digest->devices[i]);
    free(digest->devices);
    for (unsigned i = 0; i < MT_PHASE_COUNT; i++) {
        if (digest->in_phase[i])
            mt_digest_clear(digest->in_phase[i]);
        free(digest->in_phase[i]);
    }
    memset(digest, 0, sizeof *digest);
}

static struct mt_digest_device *main_device(const struct mt_digest *digest)
{
    struct mt_digest_device *most = NULL;
    for (size_t i = 0; i < digest->n_devices; i++)
        if (!most || digest->devices[i].allocated > most->allocated)
            most = &digest->devices[i];
    return most;
}

const struct mt_digest_device *mt_digest_main_device(const struct mt_digest *digest)
{
    return main_device(digest);
}

/* Skip a device that lacks blocks of that moment, as in a compact trace; the peak is more
 * informative. */
void mt_digest_attach(struct mt_digest *digest, enum mt_phase phase, struct mt_digest *there)
{
    struct mt_digest_device *device = main_device(digest);
    digest->in_phase[phase] = there;
    for (size_t i = 0; device && i < there->n_devices; i++)
        if (there->devices[i].device == device->device &&
            there->devices[i].unseen <= device->unseen)
            device->in_phase[phase] = &there->devices[i];
}
