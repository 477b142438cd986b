/* SPDX-License-Identifier: Apache-2.0 */
/* The order of ways: what is known best comes first, then what costs least. */
#include "analyzer/support/search.h"
#include "answer.h"
#include "remedies.h"

#include <stdlib.h>
#include <string.h>

unsigned mt_way_known(const struct mt_way *way)
{
    return way->served == MT_SERVED_YES ? 0 : way->request == MT_SERVED_YES ? 1 : 2;
}

bool mt_way_is_two(const struct mt_way *way)
{
    return strchr(way->change, '+') || (way->has_conf && *way->change);
}

/* Return whether a setting costs no time: one with which PyTorch empties its cache does, and what
 * another allocator's costs is not known. */
static bool is_free(const struct mt_way *way)
{
    return !way->retries && (!way->is_async || *way->change) &&
           mt_remedy_cost(way->change) == MT_COSTS_NOTHING;
}

/* Return whether it is a setting, and a first forward or backward goes on requesting as before. */
static bool is_for_one_request(const struct mt_way *way)
{
    return way->is_first && !*way->change;
}

static unsigned group_of(const struct mt_way *way)
{
    return is_for_one_request(way) ? 3
           : is_free(way)          ? 0
           : mt_way_is_two(way)    ? 3
           : *way->change          ? 2
                                   : 1;
}

/* Return where a way stands in its group: what changes least first; of what costs nothing, settings
 * last. */
static unsigned rank_of(const struct mt_way *way)
{
    return *way->change ? mt_remedy_rank(way->change) + way->has_conf : MT_SETTING_RANK;
}

/* What fits for certain comes before what carries the run a part of the way, and that before what
 * may; then what costs nothing, settings, changes, combinations. */
MT_ORDER(cheaper, struct mt_way,
         MT_COMPARE(mt_way_known(a), mt_way_known(b))
         ?: MT_FALLING(reach) ?: MT_COMPARE(group_of(a), group_of(b))
         ?: MT_COMPARE(rank_of(a), rank_of(b))
         ?: MT_RISING(operators) ?: MT_FALLING(is_replayed) ?: MT_FALLING(free)
         ?: MT_BY_TEXT(change))

void mt_answer_sort(struct mt_plan_answer *answer)
{
    if (answer->n)
        qsort(answer->way, answer->n, sizeof *answer->way, cheaper);
}
