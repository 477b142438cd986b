/* SPDX-License-Identifier: Apache-2.0 */
/* Compare the call sites of several runs. */
#include "analyzer/support/search.h"
#include "diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A site of one run, or a place, which has neither category nor module. */
struct entry {
    enum mt_category category;
    uint32_t line;
    const char *operator_name, *module;
    size_t run;
    const struct mt_digest_site *site;
    const struct mt_digest_place *place;
};

/* Modules that share a line are one site, which names the module that changed. */
MT_ORDER(by_key, struct entry, MT_RISING(line) ?: MT_BY_TEXT(operator_name) ?: MT_RISING(category))

MT_ORDER(by_key_and_module, struct entry, by_key(a, b) ?: MT_BY_TEXT(module) ?: MT_RISING(run))

struct entries {
    struct entry *entry;
    size_t n;
};

static void list_sites(struct entries *to, const struct mt_diff_device *device, size_t run)
{
    for (size_t i = 0; i < device->runs[run]->n_sites; i++) {
        const struct mt_digest_site *site = &device->runs[run]->site[i];
        uint32_t line = mt_matching_line(&device->matching, run, device->runs[run], site);
        if (line != UINT32_MAX)
            to->entry[to->n++] = (struct entry){
                site->category, line, site->operator_name, site->module, run, site, NULL};
    }
}

static void list_places(struct entries *to, const struct mt_diff_device *device, size_t run)
{
    for (size_t i = 0; i < device->runs[run]->n_places; i++) {
        const struct mt_digest_place *place = &device->runs[run]->place[i];
        to->entry[to->n++] = (struct entry){.line = device->matching.of_place[run][i],
                                            .operator_name = place->operator_name,
                                            .module = "",
                                            .run = run,
                                            .place = place};
    }
}

/* List what all runs have, in order. */
static int list(struct entries *to, const struct mt_diff_device *device, bool of_places)
{
    size_t runs = device->n_new + device->n_old, room = 1;
    for (size_t i = 0; i < runs; i++)
        room += of_places ? device->runs[i]->n_places : device->runs[i]->n_sites;
    to->entry = calloc(room, sizeof *to->entry);
    for (size_t i = 0; to->entry && i < runs; i++)
        (of_places ? list_places : list_sites)(to, device, i);
    if (to->n)
        qsort(to->entry, to->n, sizeof *to->entry, by_key_and_module);
    return to->entry ? 0 : -ENOMEM;
}

/* Return the index of the first entry with that key; in->n: none. */
static size_t find(const struct entries *in, const struct entry *key)
{
    size_t low = MT_LEADING(i, in->n, by_key(&in->entry[i], key) < 0);
    return low < in->n && !by_key(&in->entry[low], key) ? low : in->n;
}

/* One number for each run; 0: none. */
struct values {
    uint64_t *bytes, *blocks, *unused, *saved, *allocations, *most, *phases;
};

#define VALUES 7

static void clear_values(struct values *values, size_t runs)
{
    memset(values->bytes, 0, VALUES * runs * sizeof *values->bytes);
}

static void add_places(struct values *values, const struct entries *places, const struct entry *of)
{
    const struct entry key = {.line = of->line, .operator_name = of->operator_name, .module = ""};
    for (size_t i = find(places, &key); i < places->n && !by_key(&places->entry[i], &key); i++) {
        const struct entry *entry = &places->entry[i];
        values->allocations[entry->run] += entry->place->allocations;
        values->most[entry->run] += entry->place->most_bytes;
        values->phases[entry->run] += entry->place->phases;
        values->saved[entry->run] += entry->place->saved;
    }
}

static void add_sites(struct values *values, const struct entry *from, const struct entry *end)
{
    for (; from < end; from++) {
        values->bytes[from->run] += from->site->bytes;
        values->blocks[from->run] += from->site->blocks;
        values->unused[from->run] += from->site->unused;
    }
}

/* Return the only module of a site that has changed; "": none or several. */
static const char *changed_module(const struct mt_diff_device *device, const struct entry *from,
                                  const struct entry *end, struct values *values)
{
    const char *changed = NULL;
    for (const struct entry *next; from < end; from = next) {
        for (next = from; next < end && !strcmp(from->module, next->module);)
            next++;
        clear_values(values, device->n_new + device->n_old);
        add_sites(values, from, next);
        struct mt_change change = mt_change_make(values->bytes, device->n_new, device->n_old);
        if (mt_change_of(&change) && changed)
            return "";
        if (mt_change_of(&change))
            changed = from->module;
    }
    return changed ? changed : "";
}

static struct mt_diff_site make_site(const struct mt_diff_device *device, const struct entry *first,
                                     struct values *values)
{
    size_t n = device->n_new, old = device->n_old;
    return (struct mt_diff_site){.category = first->category,
                                 .line = &device->matching.line[first->line],
                                 .operator_name = first->operator_name,
                                 .stack = first->site->stack,
                                 .bytes = mt_change_make(values->bytes, n, old),
                                 .blocks = mt_change_make(values->blocks, n, old),
                                 .unused = mt_change_make(values->unused, n, old),
                                 .saved = mt_change_make(values->saved, n, old),
                                 .allocations = mt_change_make(values->allocations, n, old),
                                 .most = mt_change_make(values->most, n, old),
                                 .phases = mt_change_make(values->phases, n, old)};
}

/* Return what holds most of an entry's line in its run; NULL: not known. */
static const struct mt_held_most *held_of(const struct mt_diff_device *device,
                                          const struct entry *entry)
{
    const struct mt_digest_device *run = device->runs[entry->run];
    const struct mt_digest_site *site = entry->site;
    const struct mt_held_most *most = NULL;
    for (size_t i = 0; i < run->n_held; i++) {
        const struct mt_digest_held *held = &run->held[i];
        if (held->category == site->category && held->line == site->line &&
            !strcmp(held->file, site->file) && !strcmp(held->function, site->function) &&
            !strcmp(held->operator_name, site->operator_name) &&
            (!most || held->most.bytes > most->bytes))
            most = &held->most;
    }
    return most;
}

static void fold_sites(struct mt_diff_device *device, const struct entries *sites,
                       const struct entries *places, struct values *values)
{
    const struct entry *last = sites->entry + sites->n;
    for (const struct entry *from = sites->entry, *end; from < last; from = end) {
        for (end = from; end < last && !by_key(from, end);)
            end++;
        const char *module = changed_module(device, from, end, values);
        clear_values(values, device->n_new + device->n_old);
        add_sites(values, from, end);
        add_places(values, places, from);
        struct mt_diff_site *site = &device->site[device->n_sites++];
        *site = make_site(device, from, values);
        for (const struct entry *at = from; at < end; at++) {
            const struct mt_digest_saver *saver = &at->site->saver;
            if (at->run < device->n_new && saver->function &&
                (!site->saver || saver->bytes > site->saver->bytes))
                site->saver = saver;
            if (at->run < device->n_new && mt_change_of(&site->bytes) > 0) {
                const struct mt_held_most *held = held_of(device, at);
                if (held && (!site->held || held->bytes > site->held->bytes))
                    site->held = held;
            }
            site->guess = site->guess ? site->guess : at->site->guess;
            if (at->site->certainty > site->certainty)
                site->certainty = at->site->certainty;
        }
        site->module = module;
    }
}

int mt_diff_collect_sites(struct mt_diff_device *device)
{
    size_t runs = device->n_new + device->n_old;
    struct entries sites = {0}, places = {0};
    uint64_t *room = calloc(VALUES * runs + 1, sizeof *room);
    int rc = room ? mt_match(&device->matching, device->runs, runs, device->n_new) : -ENOMEM;
    if (!rc)
        rc = list(&sites, device, false);
    if (!rc)
        rc = list(&places, device, true);
    device->site = rc ? NULL : calloc(sites.n + 1, sizeof *device->site);
    if (device->site) {
        struct values values = {room,
                                room + runs,
                                room + 2 * runs,
                                room + 3 * runs,
                                room + 4 * runs,
                                room + 5 * runs,
                                room + 6 * runs};
        fold_sites(device, &sites, &places, &values);
    }
    rc = device->site ? 0 : -ENOMEM;
    free(room);
    free(sites.entry);
    free(places.entry);
    return rc;
}
