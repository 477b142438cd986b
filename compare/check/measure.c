/* SPDX-License-Identifier: Apache-2.0 */
/* Measure a limit's subject on a run's device. */
#include "analyzer/support/glob.h"
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Return whether a module's pattern matches. It also matches submodules: "layers.3" matches
 * "layers.3.mlp". */
static bool is_in_module(const char *pattern, const char *module)
{
    char name[1024];
    snprintf(name, sizeof name, "%s", module);
    while (*name) {
        if (mt_glob(pattern, name))
            return true;
        char *dot = strrchr(name, '.');
        *(dot ? dot : name) = '\0';
    }
    return false;
}

/* Return whether a file matches: "net.py" also matches "models/net.py". */
static bool is_file(const char *pattern, const char *file)
{
    for (const char *at = file; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (mt_glob(pattern, at))
            return true;
    return false;
}

/* Return whether a site matches FILE, or FILE:FUNCTION. */
static bool is_site(const char *pattern, const struct mt_digest_site *site)
{
    char file[1024];
    const char *colon = strchr(pattern, ':');
    if (!colon)
        return is_file(pattern, site->file);
    snprintf(file, sizeof file, "%.*s", (int)(colon - pattern), pattern);
    return is_file(file, site->file) && mt_glob(colon + 1, site->function);
}

/* Compare without patterns: names may contain a pattern's special characters. */
static bool is_named(const char *name, const struct mt_digest_site *site)
{
    size_t n = strlen(site->file);
    return !strncmp(name, site->file, n) && name[n] == ':' && !strcmp(name + n + 1, site->function);
}

bool mt_limit_has_site(const struct mt_limit *limit, const char *pattern,
                       const struct mt_digest_site *site)
{
    switch (limit->subject) {
    case MT_OF_CATEGORY:
        return site->category == limit->index;
    case MT_OF_MODULE:
        return limit->of_each ? !strcmp(pattern, site->module)
                              : is_in_module(pattern, site->module);
    case MT_OF_SITE:
        return limit->of_each ? is_named(pattern, site) : is_site(pattern, site);
    default:
        return true;
    }
}

static uint64_t of_sites(const struct mt_limit *limit, const char *pattern,
                         const struct mt_digest_device *device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < device->n_sites; i++)
        if (mt_limit_has_site(limit, pattern, &device->site[i]))
            bytes += device->site[i].bytes;
    return bytes;
}

uint64_t mt_measure(const struct mt_limit *limit, const char *pattern,
                    const struct mt_digest_device *device)
{
    switch (limit->subject) {
    case MT_OF_PEAK:
        return device->allocated;
    case MT_OF_RESERVED:
        return device->most_reserved;
    case MT_OF_GROWTH:
        return device->growth;
    case MT_OF_FRAGMENTATION:
        return mt_percent_of(device->cached, device->reserved);
    case MT_OF_END:
        return device->at_end;
    case MT_OF_CATEGORY:
        return device->category[limit->index];
    case MT_OF_PHASE:
        return device->most_in_phase[limit->index];
    case MT_OF_MODULE:
    case MT_OF_SITE:
        break;
    case MT_OF_ENDED:
    case MT_OF_MISSING:
        return 0;
    }
    return of_sites(limit, pattern, device);
}

bool mt_limit_names(const struct mt_limit *limit, const struct mt_digest_device *device)
{
    for (size_t i = 0; i < device->n_sites; i++)
        if (mt_limit_has_site(limit, limit->pattern, &device->site[i]))
            return true;
    for (size_t i = 0; i < device->n_places && limit->subject == MT_OF_SITE; i++) {
        const struct mt_digest_site site = {.file = device->place[i].file,
                                            .function = device->place[i].function};
        if (is_site(limit->pattern, &site))
            return true;
    }
    return false;
}

const struct mt_digest_device *mt_same_device(const struct mt_digest *baseline,
                                              const struct mt_digest *run,
                                              const struct mt_digest_device *device)
{
    static const struct mt_digest_device none = {.device = MT_NO_DEVICE};
    for (size_t i = 0; i < baseline->n_devices; i++)
        if (baseline->devices[i].device == device->device)
            return &baseline->devices[i];
    return mt_has_only_device(baseline, run) ? baseline->devices : &none;
}
