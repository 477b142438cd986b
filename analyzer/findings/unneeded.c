/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/model/user-line.h"

#include <errno.h>

static const char *const names[] = {
    [MT_UNNEEDED_NEVER] = "never",
    [MT_UNNEEDED_AFTER] = "after",
    [MT_UNNEEDED_UNTIL] = "until",
    [MT_UNNEEDED_BETWEEN] = "between",
};

const char *mt_unneeded_name(enum mt_unneeded_kind kind)
{
    return names[kind];
}

struct moment {
    uint64_t ns, least_pause_ns;
};

/* Return how long a block is unused at least: a quarter of an iteration, as long as they are on the
 * average; of the run if there are none. */
static uint64_t least_pause(const struct mt_replay *replay, const struct mt_device *device)
{
    uint64_t turns = device->spans ? device->spans->iterations : 0;
    return replay->survey.last_time_ns / (turns ? turns : 1) / 4;
}

static bool is_pause(const struct mt_block_uses *uses, const struct moment *moment)
{
    return uses->before.time_ns && uses->before.time_ns < moment->ns &&
           uses->after.time_ns > moment->ns && uses->before.stack != uses->after.stack &&
           uses->after.time_ns - uses->before.time_ns >= moment->least_pause_ns;
}

/* Return the kind of a block, and the use to name; MT_UNNEEDED_KINDS: it is needed, or nothing is
 * known of it. Between two places of the program, a line that allocates and uses a block first, or
 * uses it twice, is one: it could not do so later. */
static enum mt_unneeded_kind kind_of(const struct mt_block_uses *uses, const struct mt_block *block,
                                     const struct moment *moment, const struct mt_use_point **use)
{
    *use = NULL;
    if (!uses || block->evidence & (MT_SAW_WORKSPACE | MT_SAW_SEGMENT) ||
        mt_block_time(block) >= moment->ns)
        return MT_UNNEEDED_KINDS;
    if (uses->is_never)
        return MT_UNNEEDED_NEVER;
    if (uses->last.time_ns < moment->ns) {
        *use = &uses->last;
        return MT_UNNEEDED_AFTER;
    }
    if (uses->first.time_ns > moment->ns) {
        *use = &uses->first;
        return uses->first.stack == block->stack ? MT_UNNEEDED_KINDS : MT_UNNEEDED_UNTIL;
    }
    if (is_pause(uses, moment)) {
        *use = &uses->before;
        return MT_UNNEEDED_BETWEEN;
    }
    return MT_UNNEEDED_KINDS;
}

int mt_unneeded_find(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                     const struct mt_device *device, uint64_t moment_ns)
{
    const struct mt_uses_of *uses =
        device->of_cuda ? &replay->uses_of_cuda : &replay->uses_of_blocks;
    const struct mt_heap *heap = device->of_cuda ? &replay->cuda.heap : &replay->blocks;
    const struct moment moment = {moment_ns, least_pause(replay, device)};
    const struct mt_survey *survey = &replay->survey;
    bool is_unseen =
        survey->kinds[MT_USES] && (survey->kinds[MT_UNSEEN_WORK] || mt_survey_lost(survey));
    *unneeded = (struct mt_unneeded){.is_unseen = is_unseen,
                                     .is_known = survey->kinds[MT_USES] && !is_unseen};
    for (size_t i = 0; unneeded->is_known && i < device->n_verdicts; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        const struct mt_use_point *use;
        enum mt_unneeded_kind kind = kind_of(mt_uses_find(uses, heap, block), block, &moment, &use);
        if (kind == MT_UNNEEDED_KINDS)
            continue;
        uint32_t line = mt_line_stack(replay->definitions, block);
        uint32_t used = use ? mt_request_line(replay->definitions, use->stack, 0) : 0;
        struct mt_sum sum = {.key = {line, used, use && use->in_backward}, .stack = line};
        if (mt_sums_add(&unneeded->kind[kind], block->size, &sum))
            return -ENOMEM;
        unneeded->bytes += block->size;
    }
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        mt_sums_sort(&unneeded->kind[kind]);
    return 0;
}

void mt_unneeded_clear(struct mt_unneeded *unneeded)
{
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        mt_sums_clear(&unneeded->kind[kind]);
}
