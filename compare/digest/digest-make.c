/* SPDX-License-Identifier: Apache-2.0 */
/* Make a digest from an analysis: the process and its devices. */
#include "analyzer/print/page.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/comparable-names.h"
#include "analyzer/trace/definitions.h"
#include "digest-maker.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks at the peak of one category, whole stack, operator and saver. */
enum { CATEGORY, STACK, MODULE, OPERATOR, SAVER, KEYS };

static int name_site(const struct mt_digest_maker *taker, const struct mt_sum *entry,
                     struct mt_digest_site *site)
{
    *site = (struct mt_digest_site){.category = (enum mt_category)entry->key[CATEGORY],
                                    .guess = entry->guess,
                                    .certainty = (enum mt_certainty)entry->certainty,
                                    .bytes = entry->bytes,
                                    .blocks = entry->blocks,
                                    .unused = entry->unused};
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
    site->unused += other->unused;
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

/* Take the device's sites, stacks, modules and operators. */
static int take_sites(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                      const struct mt_device *device)
{
    const struct mt_naming naming = {.definitions = taker->definitions};
    const struct mt_query query = {
        &naming, {MT_BY_CATEGORY, MT_BY_BLAMED, MT_BY_MODULE, MT_BY_OPERATOR, MT_BY_SAVER}, KEYS};
    struct mt_sums sums;
    int rc = mt_query_rows(&sums, &query, device->verdicts, device->n_verdicts);
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

/* Take what holds the device's call sites, where that is known. */
static int take_held(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                     const struct mt_sites *sites)
{
    int rc = (to->held = calloc(sites->n + 1, sizeof *to->held)) ? 0 : -ENOMEM;
    for (size_t i = 0; i < sites->n && !rc; i++) {
        const struct mt_site *site = &sites->site[i];
        if (!site->held)
            continue;
        struct mt_digest_held *held = &to->held[to->n_held++];
        held->category = site->category;
        held->most = *site->held;
        held->most.path = strdup(site->held->path);
        held->operator_name = mt_maker_operator(taker, site->node_name);
        rc = mt_maker_line(taker, site->stack, &held->function, &held->file, &held->line);
        if (!held->operator_name || !held->most.path)
            rc = -ENOMEM;
    }
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

/* Take the named ranges and evaluations. Libraries use their own domains. */
static int take_ranges(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                       const struct mt_device *device, const struct mt_ranges *ranges,
                       unsigned slot)
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

static void take_spans(struct mt_digest_device *to, const struct mt_device *device)
{
    for (size_t i = 0; i < device->spans->n; i++) {
        const struct mt_span *span = &device->spans->span[i];
        if (to->most_in_phase[span->phase] < span->most) {
            to->most_in_phase[span->phase] = span->most;
            to->most_event[span->phase] = span->most_event;
        }
    }
    to->iterations = device->spans->iterations;
    if (device->span) {
        to->phase = (enum mt_phase)device->span->phase;
        to->iteration = device->span->iteration;
        mt_span_text(to->where, sizeof to->where, device->spans, device->span);
    }
}

static int take_growth(const struct mt_digest_maker *taker, struct mt_digest_site *grows,
                       const struct mt_growth *growth)
{
    if (!growth->n)
        return 0;
    const struct mt_growth_site *site = growth->site;
    *grows = (struct mt_digest_site){
        .category = site->category, .certainty = site->certainty, .bytes = site->bytes};
    int rc = mt_maker_line(taker, site->line, &grows->function, &grows->file, &grows->line);
    grows->operator_name = strdup("");
    grows->module = strdup("");
    grows->stack = mt_maker_stack(taker, "", site->line, 1);
    return rc || !grows->operator_name || !grows->module || !grows->stack ? -ENOMEM : 0;
}

static int take_device(const struct mt_digest_maker *taker, struct mt_digest_device *to,
                       const struct mt_device *device, const struct mt_replay *replay)
{
    unsigned slot = mt_device_slot(device->device);
    *to = (struct mt_digest_device){
        .device = device->device,
        .of_cuda = device->of_cuda,
        .allocated = device->at.allocated,
        .reserved = device->at.reserved,
        .most_reserved = replay->reserved.most[slot].reserved,
        .unseen = device->unseen,
        .cached = device->cached,
        .memory = replay->samples.last[slot].total,
        .growth = device->growth.per_iteration,
        .at_end = mt_replay_level(replay, device->of_cuda)->now[slot].allocated};
    for (unsigned i = 0; i < mt_n_categories; i++) {
        to->category[i] = device->category[i].bytes;
        to->certainty[i] = mt_sites_certainty(&device->sites, (enum mt_category)i);
    }
    take_spans(to, device);
    int rc = take_growth(taker, &to->grows, &device->growth);
    if (!rc)
        rc = take_sites(taker, to, device);
    if (!rc)
        rc = take_held(taker, to, &device->sites);
    if (!rc)
        rc = mt_maker_places(taker, to, &replay->places[slot]);
    if (!rc)
        rc = take_ranges(taker, to, device, &replay->tracker.ranges, slot);
    if (!rc)
        mt_count_whole_run(to);
    return rc;
}

static const char *info(const struct mt_definitions *definitions, const char *key)
{
    const char *value = mt_info(definitions, key);
    return value ? value : "";
}

/* Return a number; -1: not in the trace. */
static long number(const char *text)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;
    return text && *text >= '0' && *text <= '9' && !*end ? value : -1;
}

/* Return CUDA's version: "2.15.0+cu132" was made for CUDA cu132. */
static const char *cuda_of(const char *torch)
{
    const char *plus = strchr(torch, '+');
    return plus && !strncmp(plus + 1, "cu", 2) ? plus + 1 : "";
}

/* Return Python's version: ".../python3.11" is Python 3.11. */
static const char *python_of(const char *program)
{
    const char *name = mt_last_part(program);
    return !strncmp(name, "python3.", 8) ? name + 6 : "";
}

/* Write the environment's settings for PyTorch's allocator. The variable has an old and a new
 * name. */
static void describe_allocator(char *out, size_t size, const struct mt_definitions *definitions)
{
    const char *setting = info(definitions, "env.PYTORCH_ALLOC_CONF");
    if (!*setting)
        setting = info(definitions, "env.PYTORCH_CUDA_ALLOC_CONF");
    snprintf(out, size, "%s%s", setting,
             *info(definitions, "env.PYTORCH_NO_CUDA_MEMORY_CACHING") ? " no caching" : "");
}

static int take_process(struct mt_digest *digest, const struct mt_replay *replay)
{
    const struct mt_definitions *d = replay->definitions;
    char program[1024], allocator[4096], unsimulated[MT_UNSIMULATED_TEXT];
    describe_allocator(allocator, sizeof allocator, d);
    mt_program_name(program, sizeof program, info(d, "command"));
    const struct {
        char **to;
        const char *text;
    } texts[] = {{&digest->program, program},
                 {&digest->command, info(d, "command")},
                 {&digest->title, info(d, "title")},
                 {&digest->host, info(d, "host")},
                 {&digest->device_name, info(d, "env.CUDASIM_GPU")},
                 {&digest->torch, info(d, "torch")},
                 {&digest->cuda, cuda_of(info(d, "torch"))},
                 {&digest->python, python_of(info(d, "program"))},
                 {&digest->memtap, info(d, "memtap")},
                 {&digest->allocator, allocator},
                 {&digest->unsimulated, mt_unsimulated_text(unsimulated, &replay->unsimulated, d)}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i].to = strdup(texts[i].text)))
            return -ENOMEM;
    digest->pid = number(info(d, "pid"));
    digest->parent_pid = number(mt_info(d, "parent_pid"));
    digest->rank = number(mt_rank_text(d));
    digest->world_size = number(mt_world_size_text(d));
    digest->started_unix_ns = strtoull(info(d, "start_realtime_ns"), NULL, 10);
    digest->length_ns = mt_survey_length_ns(&replay->survey);
    digest->events = replay->survey.events;
    digest->lost = mt_survey_lost(&replay->survey);
    digest->complete = replay->survey.complete;
    return 0;
}

/* Make the digest of an analysis at the peak, without places unless its question has whole_run. 0
 * or -ENOMEM. */
static int make(struct mt_digest *digest, const char *path, const struct mt_analysis *analysis)
{
    uint64_t text = 0;
    struct mt_kept_texts *with_lines = mt_kept_texts_create(), *without = mt_kept_texts_create();
    memset(digest, 0, sizeof *digest);
    const struct mt_digest_maker taker = {analysis->replay.definitions,
                                          info(analysis->replay.definitions, "working_directory"),
                                          &text,
                                          &digest->cut_stacks,
                                          {with_lines, without}};
    digest->path = strdup(path);
    digest->fault = strdup(analysis->fault.fault ? analysis->fault.text : "");
    digest->ended = mt_analysis_ended(analysis);
    digest->is_sound = !analysis->fault.fault;
    digest->devices = calloc(analysis->n_devices + 1, sizeof *digest->devices);
    int rc =
        with_lines && without && digest->path && digest->fault && digest->devices ? 0 : -ENOMEM;
    if (!rc)
        rc = take_process(digest, &analysis->replay);
    for (size_t i = 0; i < analysis->n_devices && !rc; i++)
        rc = take_device(&taker, &digest->devices[digest->n_devices++], &analysis->devices[i],
                         &analysis->replay);
    mt_kept_texts_destroy(with_lines);
    mt_kept_texts_destroy(without);
    return rc;
}

int mt_digest_query(struct mt_digest *digest, const char *path, const struct mt_question *question,
                    struct mt_trace_error *error)
{
    struct mt_analysis analysis;
    struct mt_question of_whole_run = *question;
    of_whole_run.whole_run = 1;
    memset(digest, 0, sizeof *digest);
    int rc = mt_analysis_create(&analysis, path, &of_whole_run);
    *error = analysis.fault;
    if (!rc)
        rc = make(digest, path, &analysis);
    mt_analysis_destroy(&analysis);
    return rc;
}

int mt_digest_read(struct mt_digest *digest, const char *path, const struct mt_user_rules *rules,
                   struct mt_trace_error *error)
{
    return mt_digest_query(digest, path, &(struct mt_question){.rules = rules}, error);
}
