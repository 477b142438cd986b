/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdbool.h>

static const char *const names[] = {
    [MT_IDLE_NEVER] = "never", [MT_IDLE_AFTER] = "after", [MT_IDLE_UNTIL] = "until"};

const char *mt_idle_name(enum mt_idle_kind kind)
{
    return names[kind];
}

/* Return whether the trace has all of the program's copies. */
static bool is_known(const struct mt_replay *replay, const char *unseen)
{
    const struct mt_survey *survey = &replay->survey;
    return survey->kinds[MT_CUDA_COPY] + survey->kinds[MT_CUDA_SET] && survey->complete &&
           !mt_survey_lost(survey) && !mt_info(replay->definitions, "torch") &&
           !mt_info(replay->definitions, "dropped") && !unseen;
}

/* Return the kind of a block; MT_IDLE_KINDS: it was in use, or unknown. A block allocated at the
 * moment is not idle yet. */
static enum mt_idle_kind kind_of(const struct mt_replay *replay, const struct mt_block *block,
                                 uint64_t moment_ns)
{
    struct mt_touch touch =
        mt_touches_of(&replay->cuda.touches, mt_heap_index(&replay->cuda.heap, block));
    if (mt_cuda_api_space(block->api) != MT_SPACE_DEVICE || mt_block_time(block) >= moment_ns)
        return MT_IDLE_KINDS;
    if (!touch.is_seen)
        return MT_IDLE_NEVER;
    if (touch.last_ns < moment_ns)
        return MT_IDLE_AFTER;
    return touch.first_ns > moment_ns ? MT_IDLE_UNTIL : MT_IDLE_KINDS;
}

int mt_idle_find(struct mt_idle *idle, const struct mt_replay *replay, uint64_t moment_ns,
                 const struct mt_verdict *verdicts, size_t n)
{
    const char *unseen = mt_info(replay->definitions, "unseen_copies");
    *idle = (struct mt_idle){.is_known = is_known(replay, unseen),
                             .unseen = is_known(replay, NULL) ? unseen : NULL};
    for (size_t i = 0; idle->is_known && i < n; i++) {
        const struct mt_block *block = verdicts[i].block;
        enum mt_idle_kind kind = kind_of(replay, block, moment_ns);
        if (kind < MT_IDLE_KINDS && mt_sums_count(&idle->kind[kind], block->stack, block->size))
            return -ENOMEM;
    }
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        mt_sums_sort(&idle->kind[kind]);
    return 0;
}

void mt_idle_clear(struct mt_idle *idle)
{
    for (enum mt_idle_kind kind = 0; kind < MT_IDLE_KINDS; kind++)
        mt_sums_clear(&idle->kind[kind]);
}
