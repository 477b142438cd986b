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
    uint64_t ns, least_pause_ns, event;
    uint32_t line;  /* that allocates then; 0: not known */
    bool is_killed; /* the trace ends with uses that do not belong to blocks yet */
    const struct mt_device *device;
    const struct mt_definitions *definitions;
};

static uint32_t line_of(const struct moment *moment, uint32_t stack)
{
    return mt_request_line(moment->definitions, stack, 0);
}

/* Return the line that allocates at the moment. */
static uint32_t line_at(const struct mt_replay *replay, const struct mt_device *device)
{
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    if (replay->question.moment.kind == MT_AT_OOM && oom)
        return mt_request_line(replay->definitions, oom->stack, 0);
    for (size_t i = 0; i < device->n_verdicts; i++)
        if (mt_block_event(device->verdicts[i].block) == device->at.event)
            return mt_request_line(replay->definitions, device->verdicts[i].block->stack, 0);
    return 0;
}

/* Return whether a block was allocated in the moment's iteration, or in its phase if there is none.
 */
static bool is_of_iteration(const struct moment *moment, const struct mt_block *block)
{
    const struct mt_device *device = moment->device;
    const struct mt_turns *turns = device->spans ? device->spans->turns : NULL;
    uint64_t event = mt_block_event(block);
    if (turns)
        return mt_turns_at(turns, event) == mt_turns_at(turns, moment->event);
    return !device->span || event >= device->span->event;
}

/* Return whether a block's last use is of the line that allocates at the moment, in the same
 * iteration: no statement can come between them. */
static bool is_of_own_line(const struct moment *moment, const struct mt_block_uses *uses,
                           const struct mt_block *block)
{
    return moment->line && line_of(moment, uses->last.stack) == moment->line &&
           is_of_iteration(moment, block);
}

/* Return whether what is known of a block's uses does not reach the moment. */
static bool is_unknown(const struct mt_block_uses *uses, const struct moment *moment)
{
    return !uses || uses->known_ns < moment->ns ||
           (moment->is_killed && uses->known_ns == moment->ns);
}

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
           uses->after.time_ns > moment->ns &&
           line_of(moment, uses->before.stack) != line_of(moment, uses->after.stack) &&
           uses->after.time_ns - uses->before.time_ns >= moment->least_pause_ns;
}

/* Return the kind of a block, and the use to name; MT_UNNEEDED_KINDS: it is needed. Between two
 * places of the program, a line that allocates and uses a block first, or uses it twice, is one: it
 * could not do so later. */
static enum mt_unneeded_kind kind_of(const struct mt_block_uses *uses, const struct mt_block *block,
                                     const struct moment *moment, const struct mt_use_point **use)
{
    *use = NULL;
    if (uses->is_never)
        return MT_UNNEEDED_NEVER;
    if (uses->last.time_ns < moment->ns) {
        *use = &uses->last;
        return MT_UNNEEDED_AFTER;
    }
    if (uses->first.time_ns > moment->ns) {
        *use = &uses->first;
        return line_of(moment, uses->first.stack) == line_of(moment, block->stack)
                   ? MT_UNNEEDED_KINDS
                   : MT_UNNEEDED_UNTIL;
    }
    if (is_pause(uses, moment)) {
        *use = &uses->before;
        return MT_UNNEEDED_BETWEEN;
    }
    return MT_UNNEEDED_KINDS;
}

/* Return where a block counts apart; NULL: nowhere. */
static uint64_t *apart_of(struct mt_unneeded *unneeded, const struct mt_block_uses *uses,
                          const struct mt_block *block, enum mt_unneeded_kind kind,
                          const struct moment *moment)
{
    if (is_unknown(uses, moment))
        return &unneeded->unknown;
    if (kind != MT_UNNEEDED_KINDS && uses->is_passed)
        return &unneeded->passed;
    if (kind == MT_UNNEEDED_AFTER && is_of_own_line(moment, uses, block))
        return &unneeded->of_own_line;
    return NULL;
}

int mt_unneeded_find(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                     const struct mt_device *device, uint64_t moment_ns)
{
    const struct mt_uses_of *uses =
        device->of_cuda ? &replay->uses_of_cuda : &replay->uses_of_blocks;
    const struct mt_heap *heap = device->of_cuda ? &replay->cuda.heap : &replay->blocks;
    const struct mt_survey *survey = &replay->survey;
    bool is_recorded = survey->kinds[MT_USES] || survey->kinds[MT_USE];
    bool is_unseen = is_recorded && (survey->kinds[MT_UNSEEN_WORK] || mt_survey_lost(survey));
    *unneeded = (struct mt_unneeded){.is_unseen = is_unseen, .is_known = is_recorded && !is_unseen};
    if (!unneeded->is_known)
        return 0;
    const struct moment moment = {.ns = moment_ns,
                                  .least_pause_ns = least_pause(replay, device),
                                  .event = device->at.event,
                                  .line = line_at(replay, device),
                                  .is_killed = survey->kinds[MT_USE],
                                  .device = device,
                                  .definitions = replay->definitions};
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        const struct mt_block_uses *known = mt_uses_find(uses, heap, block);
        const struct mt_use_point *use = NULL;
        if (block->evidence & (MT_SAW_WORKSPACE | MT_SAW_SEGMENT) ||
            mt_block_time(block) >= moment.ns)
            continue;
        enum mt_unneeded_kind kind =
            is_unknown(known, &moment) ? MT_UNNEEDED_KINDS : kind_of(known, block, &moment, &use);
        uint64_t *apart = apart_of(unneeded, known, block, kind, &moment);
        if (apart)
            *apart += block->size;
        if (apart || kind == MT_UNNEEDED_KINDS)
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
