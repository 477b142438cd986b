/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/median.h"
#include "tools/fit/run/requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- what a run showed ------------------------------------------------------------------------ */

/* Return a number for the sizes that were asked for, whatever their order and how often: threads
 * take turns as they like. */
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

/* Hash the requests in order. What others take of the card is noted now and then: it is no request.
 */
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

/* Return the kind: how the run ended, the most that was taken, and the sizes that were asked for.
 */
static uint64_t find_kind(struct mt_rank_run *run, int asked)
{
    const struct mt_outcome *outcome = run->outcome;
    struct mt_request_log log = {0};
    uint64_t kind = mt_hash_number(
        mt_hash_number(mt_hash_number(outcome->end, outcome->used), outcome->reserved),
        outcome->allocated);
    if (asked > 0)
        mt_request_log_read(&log, asked);
    for (size_t i = 0; i < log.n_devices; i++) {
        kind = hash_sizes(log.device[i], kind);
        run->order = hash_order(log.device[i], run->order);
    }
    mt_request_log_clear(&log);
    return kind;
}

/* --- which are run ---------------------------------------------------------------------------- */

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

bool mt_line_ranks_next(struct mt_line_ranks *ranks, unsigned *rank)
{
    if (ranks->n_started == ranks->kinds.n_wanted)
        return false;
    *rank = ranks->kinds.wanted[ranks->n_started++];
    return true;
}

/* Arrange the ranks by the groups that rank 0 made. */
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

static void finish(struct mt_line_ranks *ranks)
{
    for (unsigned i = 0; i < ranks->kinds.n_kinds; i++) {
        unsigned rank = ranks->kinds.kind[i].rank, at = i;
        uint64_t used = mt_line_ranks_run(ranks, rank)->outcome->used;
        for (; at && mt_line_ranks_run(ranks, ranks->rank[at - 1])->outcome->used < used; at--)
            ranks->rank[at] = ranks->rank[at - 1];
        ranks->rank[at] = rank;
    }
    ranks->is_found = true;
    mt_line_ranks_end(ranks);
}

void mt_line_ranks_learn(struct mt_line_ranks *ranks, unsigned rank,
                         const struct mt_outcome *outcome, int asked)
{
    struct mt_rank_run *run = &ranks->run[ranks->n_runs++];
    *run = (struct mt_rank_run){.rank = rank, .outcome = outcome};
    mt_rank_kinds_learn(&ranks->kinds, rank, find_kind(run, asked));
    if (++ranks->n_ended < ranks->kinds.n_wanted)
        return;
    ranks->n_started = ranks->n_ended = 0;
    if (ranks->n_runs == 1)
        arrange(ranks);
    if (!mt_rank_kinds_next(&ranks->kinds))
        finish(ranks);
}

/* --- what was found --------------------------------------------------------------------------- */

const struct mt_rank_run *mt_line_ranks_run(const struct mt_line_ranks *ranks, unsigned rank)
{
    const struct mt_rank_run *run = ranks->run;
    while (run->rank != rank)
        run++;
    return run;
}

unsigned mt_line_ranks_exact(const struct mt_line_ranks *ranks, const struct mt_rank_kind *kind)
{
    uint64_t order = mt_line_ranks_run(ranks, kind->rank)->order;
    unsigned n = 0;
    for (unsigned i = 0; i < ranks->kinds.n_known; i++)
        n += order && ranks->kinds.known[i].kind == kind->kind &&
             mt_line_ranks_run(ranks, ranks->kinds.known[i].rank)->order == order;
    return n;
}
