/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"

#include <string.h>

static void note(struct mt_serving_work *work, const struct mt_span *span, bool begins)
{
    work->times += begins;
    if (span->most <= work->most)
        return;
    work->most = span->most;
    work->most_time_ns = span->most_time_ns;
}

static uint64_t count_captures(const struct mt_replay *replay)
{
    const struct mt_ranges *ranges = &replay->tracker.ranges;
    uint64_t n = 0;
    for (size_t path = 1; path < ranges->n_ranges; path++)
        if (mt_range_is_graph(replay->definitions, &ranges->range[path]))
            n += ranges->range[path].times;
    return n;
}

void mt_serving_budget_find(struct mt_serving_budget *budget, const struct mt_replay *replay,
                            unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    uint64_t before_loading = 0, loaded = 0, after_profile = 0;
    memset(budget, 0, sizeof *budget);
    if (replay->survey.short_lived)
        return; /* in a light recording, spans lack short-lived blocks */
    for (size_t i = 0; i < spans->n; i++) {
        const struct mt_span *span = &spans->span[i];
        enum mt_serving what = (enum mt_serving)span->serving;
        if (!what)
            continue;
        budget->serves = true;
        if (what == MT_SERVING_LOAD && !budget->work[what].times && i)
            before_loading = span[-1].left;
        if (what == MT_SERVING_LOAD)
            loaded = span->left;
        if (what == MT_SERVING_PROFILE)
            after_profile = span->left;
        note(&budget->work[what], span, !i || span[-1].turn != span->turn);
    }
    if (!budget->serves)
        return;
    if (loaded > before_loading)
        budget->weights = loaded - before_loading;
    if (budget->work[MT_SERVING_PROFILE].most > after_profile)
        budget->activations = budget->work[MT_SERVING_PROFILE].most - after_profile;
    budget->graphs = replay->reserved.graphs[slot].most;
    budget->captured = replay->reserved.graphs[slot].captured;
    budget->captures = count_captures(replay);
}

struct mt_cache_room mt_cache_room_find(const struct mt_rooms *rooms,
                                        const struct mt_verdict *verdicts, size_t n)
{
    struct mt_cache_room most = {.sequences = 0};
    for (size_t i = 0; i < n; i++) {
        const struct mt_block *block = verdicts[i].block;
        if (verdicts[i].rule->category != MT_CATEGORY_KV_CACHE ||
            !(block->evidence & MT_SAW_ROOM) || block->number - 1 >= rooms->n)
            continue;
        const struct mt_room *room = &rooms->room[block->number - 1];
        if (room->tokens > most.room.tokens)
            most.room = *room;
    }
    most.sequences = mt_room_sequences(&most.room);
    most.is_least = most.room.longest && !most.room.each;
    return most;
}
