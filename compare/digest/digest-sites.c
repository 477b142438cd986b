/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/search.h"
#include "digest-maker.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks at the peak of one category, whole stack, operator and saver. */
enum { CATEGORY, STACK, MODULE, OPERATOR, SAVER, KEYS };
static const enum mt_property keys[KEYS] = {MT_BY_CATEGORY, MT_BY_BLAMED, MT_BY_MODULE,
                                            MT_BY_OPERATOR, MT_BY_SAVER};

static int name_site(const struct mt_digest_maker *taker, const struct mt_sum *entry,
                     struct mt_digest_site *site)
{
    *site = (struct mt_digest_site){.category = (enum mt_category)entry->key[CATEGORY],
                                    .guess = entry->guess,
                                    .certainty = (enum mt_certainty)entry->certainty,
                                    .bytes = entry->bytes,
                                    .blocks = entry->blocks};
    int rc = mt_maker_line(taker, entry->stack, &site->function, &site->file, &site->line);
    site->operator_name = mt_maker_operator(taker, entry->key[OPERATOR]);
    site->module = strdup(mt_stack_module(taker->definitions, entry->key[MODULE]));
    site->stack = mt_maker_stack(taker, "", entry->key[STACK], 1);
    if (!rc && entry->key[SAVER]) {
        rc = mt_maker_line(taker, entry->key[SAVER], &site->saver.function, &site->saver.file,
                           &site->saver.line);
        site->saver.bytes = entry->bytes;
    }
    return rc || !site->operator_name || !site->module || !site->stack ? -ENOMEM : 0;
}

MT_ORDER(same_site, struct mt_digest_site,
         MT_RISING(category) ?: MT_BY_TEXT(file) ?: MT_BY_TEXT(function)
         ?: MT_BY_TEXT(operator_name) ?: MT_BY_TEXT(module) ?: MT_RISING(line))

/* Among sites of one name the largest comes first, since its stack stands for all. */
MT_ORDER(by_site, struct mt_digest_site, same_site(a, b) ?: MT_FALLING(bytes) ?: MT_BY_TEXT(stack))

static void join_sites(void *into, void *from)
{
    struct mt_digest_site *site = into, *other = from;
    uint64_t saved = site->saver.bytes + other->saver.bytes;
    if (!site->saver.function) {
        site->saver = other->saver;
        other->saver = (struct mt_digest_saver){0};
    }
    site->saver.bytes = saved;
    site->bytes += other->bytes;
    site->blocks += other->blocks;
    if (site->certainty < other->certainty)
        site->certainty = other->certainty;
    if (!site->guess)
        site->guess = other->guess;
    mt_digest_site_clear(other);
}

MT_ORDER(by_share, struct mt_digest_share, MT_BY_TEXT(name))

/* Takes ownership of the name, even on failure. */
static int add_share(struct mt_digest_shares *shares, size_t capacity, char *name, uint64_t bytes,
                     uint64_t blocks)
{
    if (!shares->share)
        shares->share = calloc(capacity + 1, sizeof *shares->share);
    if (!shares->share || !name) {
        free(name);
        return -ENOMEM;
    }
    shares->share[shares->n++] = (struct mt_digest_share){name, bytes, blocks};
    return 0;
}

static void join_shares(void *into, void *from)
{
    struct mt_digest_share *share = into, *other = from;
    share->bytes += other->bytes;
    share->blocks += other->blocks;
    free(other->name);
}

static void merge_shares(struct mt_digest_shares *shares)
{
    shares->n =
        mt_merge(shares->share, shares->n, sizeof *shares->share, by_share, by_share, join_shares);
}

int mt_maker_sites(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                   const struct mt_device *device)
{
    const struct mt_naming naming = {.definitions = taker->definitions};
    struct mt_sums sums;
    int rc = mt_sum_blocks(&sums, &naming, keys, KEYS, device->verdicts, device->n_verdicts);
    if (!rc && !(to->site = calloc(sums.n + 1, sizeof *to->site)))
        rc = -ENOMEM;
    for (size_t i = 0; i < sums.n && !rc; i++) {
        const struct mt_sum *sum = &sums.sum[i];
        char first[64];
        snprintf(first, sizeof first, "%s;", mt_categories[sum->key[CATEGORY]].name);
        rc = name_site(taker, sum, &to->site[to->n_sites++]);
        if (!rc)
            rc = add_share(&to->stacks, sums.n, mt_maker_stack(taker, first, sum->key[STACK], 0),
                           sum->bytes, sum->blocks);
    }
    mt_sums_clear(&sums);
    if (rc)
        return rc;
    to->n_sites = mt_merge(to->site, to->n_sites, sizeof *to->site, by_site, same_site, join_sites);
    for (size_t i = 0; i < to->n_sites && !rc; i++) {
        const struct mt_digest_site *site = &to->site[i];
        if (*site->module)
            rc = add_share(&to->modules, to->n_sites, strdup(site->module), site->bytes,
                           site->blocks);
        if (!rc && *site->operator_name)
            rc = add_share(&to->operators, to->n_sites, strdup(site->operator_name), site->bytes,
                           site->blocks);
    }
    merge_shares(&to->modules);
    merge_shares(&to->operators);
    merge_shares(&to->stacks);
    return rc;
}

#define MOST_RANGES 4096u

/* Numbers in names are of iterations, requests, layers: "step 7" and "step 8" are one name. */
static void fold_digits(char *text)
{
    char *to = text;
    for (const char *at = text; *at; at++)
        if (!isdigit((unsigned char)*at))
            *to++ = *at;
        else if (to == text || to[-1] != '#')
            *to++ = '#';
    *to = '\0';
}

static void raise_share(void *into, void *from)
{
    struct mt_digest_share *share = into, *other = from;
    share->bytes = share->bytes > other->bytes ? share->bytes : other->bytes;
    free(other->name);
}

static uint64_t most_in_evaluations(const struct mt_device *device)
{
    uint64_t most = 0;
    for (size_t i = 0; i < device->spans->n && !device->spans->only_evaluates; i++)
        if (device->spans->span[i].is_evaluation && device->spans->span[i].most > most)
            most = device->spans->span[i].most;
    return most;
}

/* Libraries use their own domains. */
int mt_maker_ranges(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                    const struct mt_device *device, const struct mt_ranges *ranges, unsigned slot)
{
    int rc = 0;
    uint64_t most = most_in_evaluations(device);
    size_t n = ranges->device[slot].n < MOST_RANGES ? ranges->device[slot].n : MOST_RANGES;
    if (most)
        rc = add_share(&to->ranges, n + 1, strdup("evaluation"), most, 0);
    for (size_t path = 1; path < n && !rc; path++) {
        char text[256];
        const struct mt_range_most *here = &ranges->device[slot].most[path];
        if (!here->event || ranges->range[path].domain ||
            mt_range_is_of_graph(taker->definitions, ranges, (uint32_t)path))
            continue;
        mt_range_name_text(text, sizeof text, taker->definitions, ranges->range[path].name, 0);
        fold_digits(text);
        rc = add_share(&to->ranges, n + 1, strdup(text), here->bytes, 0);
    }
    to->ranges.n = mt_merge(to->ranges.share, to->ranges.n, sizeof *to->ranges.share, by_share,
                            by_share, raise_share);
    return rc;
}
