/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "analyzer/support/search.h"
#include "analyzer/trace/definitions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static long parse_rank(const char *text)
{
    char *end;
    long rank = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end ? rank : -1;
}

long mt_rank_in(const struct mt_definitions *definitions)
{
    const char *text = mt_rank_text(definitions);
    return text ? parse_rank(text) : -1;
}

long mt_rank(const struct mt_analysis *analysis)
{
    return mt_rank_in(analysis->replay.definitions);
}

static void find_rank(const struct mt_definition *definition, long *rank)
{
    char value[16] = "";
    const char *text;
    size_t size;
    if (!mt_names_rank(definition, &text, &size))
        return;
    memcpy(value, text, size < sizeof value ? size : sizeof value - 1);
    *rank = parse_rank(value);
}

int mt_trace_rank(const char *path, long *rank, struct mt_trace_error *error)
{
    struct mt_reader *reader;
    struct mt_batch batch = {0};
    *rank = -1;
    int rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    while (!batch.n_events && (rc = mt_reader_next(reader, &batch, error)) > 0)
        for (size_t i = 0; i < batch.n_definitions; i++)
            find_rank(&batch.definitions[i], rank);
    mt_reader_close(reader);
    return rc < 0 ? rc : 0;
}

static char *own(const char *text)
{
    return strdup(text ? text : "");
}

static uint64_t parse_time(const char *text)
{
    return text ? strtoull(text, NULL, 10) : 0;
}

int mt_job_rank_take(struct mt_job_rank *rank, const struct mt_analysis *analysis, size_t given)
{
    const struct mt_definitions *definitions = analysis->replay.definitions;
    const struct mt_device *device = mt_analysis_main_device(analysis);
    const char *stands_for = mt_stands_for_text(definitions);
    *rank = (struct mt_job_rank){.rank = mt_rank(analysis),
                                 .stands_for = stands_for ? parse_rank(stands_for) : -1,
                                 .given = given,
                                 .host = own(mt_info(definitions, "host")),
                                 .parent_pid = own(mt_info(definitions, "parent_pid")),
                                 .pid = own(mt_info(definitions, "pid")),
                                 .world_size = own(mt_world_size_text(definitions)),
                                 .master_address = own(mt_info(definitions, "env.MASTER_ADDR")),
                                 .title = own(mt_info(definitions, "title")),
                                 .visible = own(mt_info(definitions, "env.CUDA_VISIBLE_DEVICES")),
                                 .is_simulated = mt_info(definitions, "env.CUDASIM_GPU"),
                                 .begin_ns = parse_time(mt_info(definitions, "start_realtime_ns")),
                                 .phase = "",
                                 .ended = mt_analysis_ended(analysis)};
    rank->last_ns = rank->begin_ns + analysis->replay.survey.last_time_ns;
    char line[512] = "";
    const struct mt_growth_site *grows = device ? mt_growth_main(&device->growth) : NULL;
    if (grows && grows->line)
        mt_place_text(line, sizeof line, definitions, grows->line);
    rank->growth_line = own(line);
    if (device) {
        rank->growth_every = mt_growth_rhythm(&device->growth, &rank->growth);
        rank->growth = device->growth.turns ? 0 : rank->growth;
        rank->has_device = true;
        rank->device = device->device;
        rank->allocated = device->at.allocated;
        rank->time_ns = device->at.time_ns;
        rank->of_cuda = device->of_cuda;
        rank->has_every_level =
            device->is_peak && !mt_compact_of(definitions) && !analysis->replay.survey.short_lived;
        if (device->span)
            rank->phase = mt_phase_names[device->span->phase].label;
        for (unsigned i = 0; i < mt_n_categories; i++) {
            rank->category[i] = device->category[i].bytes;
            rank->certainty[i] = mt_sites_certainty(&device->sites, (enum mt_category)i);
        }
    }
    return rank->host && rank->parent_pid && rank->pid && rank->world_size &&
                   rank->master_address && rank->title && rank->visible && rank->growth_line
               ? 0
               : -ENOMEM;
}

void mt_job_rank_clear(struct mt_job_rank *rank)
{
    free(rank->host);
    free(rank->parent_pid);
    free(rank->pid);
    free(rank->world_size);
    free(rank->master_address);
    free(rank->title);
    free(rank->growth_line);
    free(rank->visible);
    *rank = (struct mt_job_rank){0};
}

MT_ORDER(by_rank, struct mt_job_rank, MT_RISING(rank) ?: MT_RISING(given))

void mt_job_sort(struct mt_job_rank *ranks, size_t n)
{
    if (n)
        qsort(ranks, n, sizeof *ranks, by_rank);
}

/* Return whether one had ended before the other began, by more than the clocks of two machines, or
 * the starts of two children of one process, may differ. Simulated ranks run one after the other.
 */
static bool are_apart(const struct mt_job_rank *a, const struct mt_job_rank *b)
{
    bool is_one_host = *a->host && !strcmp(a->host, b->host);
    uint64_t most_ns = (is_one_host ? 60u : 600u) * (uint64_t)1000000000;
    if (a->is_simulated || b->is_simulated || !a->begin_ns || !b->begin_ns ||
        (is_one_host && *a->parent_pid && !strcmp(a->parent_pid, b->parent_pid)))
        return false;
    return a->begin_ns > b->last_ns + most_ns || b->begin_ns > a->last_ns + most_ns;
}

bool mt_same_job(const struct mt_job_rank *a, const struct mt_job_rank *b, const char **why)
{
    if (strcmp(a->world_size, b->world_size)) {
        *why = "they differ in WORLD_SIZE";
        return false;
    }
    if (strcmp(a->master_address, b->master_address)) {
        *why = "they differ in MASTER_ADDR";
        return false;
    }
    if (a->rank >= 0 && a->rank == b->rank) {
        *why = "both have the same rank";
        return false;
    }
    /* Without ranks: processes with the same parent. */
    if (a->rank < 0 && (strcmp(a->host, b->host) || strcmp(a->parent_pid, b->parent_pid))) {
        *why = "neither has a rank, and their parent processes differ";
        return false;
    }
    if (are_apart(a, b)) {
        *why = "one had ended before the other began";
        return false;
    }
    return true;
}

bool mt_is_higher(const struct mt_job_rank *a, const struct mt_job_rank *b)
{
    return a->allocated != b->allocated ? a->allocated > b->allocated : by_rank(a, b) < 0;
}

bool mt_share_card(const struct mt_job_rank *a, const struct mt_job_rank *b)
{
    return a->has_device && b->has_device && a->device == b->device && *a->host &&
           !strcmp(a->host, b->host) && !strcmp(a->visible, b->visible) && a->begin_ns &&
           a->begin_ns < b->last_ns && b->begin_ns < a->last_ns;
}

bool mt_card_share_find(struct mt_card_share *share, const struct mt_job_rank *ranks, size_t n,
                        size_t first)
{
    *share = (struct mt_card_share){.first = first,
                                    .n = 1,
                                    .peaks = ranks[first].allocated,
                                    .most = ranks[first].card_most,
                                    .ns = ranks[first].card_ns};
    for (size_t i = 0; i < n; i++) {
        if (i == first || !mt_share_card(&ranks[first], &ranks[i]))
            continue;
        if (i < first)
            return false;
        share->n++;
        share->peaks += ranks[i].allocated;
    }
    return share->n > 1;
}

size_t mt_job_highest(const struct mt_job_rank *ranks, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (mt_is_higher(&ranks[i], &ranks[best]))
            best = i;
    return best;
}
