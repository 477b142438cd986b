/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/median.h"
#include "analyzer/support/search.h"
#include "tools/memtap/fit/run/requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- a run's kind ------------------------------------------------------------------------------
 */

/* Hash the set of requested sizes, regardless of order and number: threads interleave freely. */
static uint64_t hash_sizes(const struct mt_request_log_device *device, uint64_t hash)
{
    uint64_t *sizes = malloc((device->n + 1) * sizeof *sizes);
    size_t n = 0;
    for (size_t i = 0; sizes && i < device->n; i++)
        if (device->request[i].kind == MT_REQUEST_ALLOCATE)
            sizes[n++] = device->request[i].size;
    n = mt_sort_once(sizes, n);
    for (size_t i = 0; i < n; i++)
        hash = mt_hash_number(hash, sizes[i]);
    free(sizes);
    return hash;
}

/* Hash the requests in order, skipping samples of others' memory. */
static uint64_t hash_order(const struct mt_request_log_device *device, uint64_t hash)
{
    for (size_t i = 0; i < device->n; i++) {
        const struct mt_request *request = &device->request[i];
        if (request->kind == MT_REQUEST_OTHERS)
            continue;
        hash = mt_hash_number(mt_hash_number(hash, request->size), request->block);
        hash = mt_hash_number(hash, (uint64_t)request->kind << 32 | (uint64_t)request->pool << 16 |
                                        request->stream);
    }
    return hash | 1;
}

/* Return the run with its kind: how it ended, its peak, and the requested sizes. */
static struct mt_rank_run judge(unsigned rank, const struct mt_outcome *outcome, int request_log)
{
    const uint64_t figures[] = {outcome->end, outcome->used, outcome->reserved, outcome->allocated};
    struct mt_rank_run run = {.rank = rank, .outcome = outcome};
    struct mt_request_log log = {0};
    run.kind = mt_hash(MT_HASH_SEED, figures, sizeof figures);
    if (request_log > 0)
        mt_request_log_read(&log, request_log);
    for (size_t i = 0; i < log.n_devices; i++) {
        run.kind = hash_sizes(log.device[i], run.kind);
        run.order = hash_order(log.device[i], run.order);
    }
    mt_request_log_clear(&log);
    return run;
}

/* --- choosing ranks --------------------------------------------------------------------------- */

int mt_line_ranks_begin(struct mt_line_ranks *ranks, unsigned world, const char *folder,
                        size_t line)
{
    mt_rank_kinds_begin(&ranks->kinds, world);
    ranks->kinds.n_wanted = 1; /* rank 0 */
    snprintf(ranks->groups, sizeof ranks->groups, "%.*s/groups-%zu", PATH_MAX - 32, folder, line);
    FILE *groups = fopen(ranks->groups, "we");
    return !groups || fclose(groups) ? -errno : 0;
}

void mt_line_ranks_end(struct mt_line_ranks *ranks)
{
    if (*ranks->groups)
        unlink(ranks->groups);
    *ranks->groups = '\0';
}

const unsigned *mt_line_ranks_next(struct mt_line_ranks *ranks)
{
    unsigned *tried = &ranks->tried[ranks->kinds.n_known - ranks->n_ended + ranks->n_started];
    if (ranks->n_started == ranks->kinds.n_wanted)
        return NULL;
    *tried = ranks->kinds.wanted[ranks->n_started++];
    return tried;
}

/* Arrange the ranks by the groups that rank 0 created. */
static void arrange(struct mt_line_ranks *ranks)
{
    unsigned long long first, stride, count;
    unsigned world = ranks->kinds.world;
    FILE *groups = fopen(ranks->groups, "re");
    while (groups && fscanf(groups, "%llu %llu %llu", &first, &stride, &count) == 3)
        if (!first && stride && count && stride < world && count <= world)
            mt_rank_kinds_divide(&ranks->kinds, (unsigned)stride, (unsigned)count);
    if (groups)
        fclose(groups);
}

/* Move the kind with the highest peak to the front. */
MT_ORDER(by_need, struct mt_rank_kind,
         MT_COMPARE(b->first->outcome->used, a->first->outcome->used)
             ?: MT_COMPARE(a->first->rank, b->first->rank))

static void finish(struct mt_line_ranks *ranks)
{
    struct mt_rank_kinds *kinds = &ranks->kinds;
    qsort(kinds->kind, kinds->n_kinds, sizeof *kinds->kind, by_need);
    for (unsigned i = 0; i < kinds->n_kinds; i++)
        ranks->rank[i] = kinds->kind[i].first->rank;
    ranks->is_found = true;
    mt_line_ranks_end(ranks);
}

void mt_line_ranks_learn(struct mt_line_ranks *ranks, unsigned rank,
                         const struct mt_outcome *outcome, int request_log)
{
    mt_rank_kinds_learn(&ranks->kinds, judge(rank, outcome, request_log));
    if (++ranks->n_ended < ranks->kinds.n_wanted)
        return;
    ranks->n_started = ranks->n_ended = 0;
    if (ranks->kinds.n_known == 1)
        arrange(ranks);
    if (!mt_rank_kinds_next(&ranks->kinds))
        finish(ranks);
}
