/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [MT_UNNEEDED_NEVER] = "never",     [MT_UNNEEDED_WRITTEN] = "written",
    [MT_UNNEEDED_AFTER] = "after",     [MT_UNNEEDED_UNTIL] = "until",
    [MT_UNNEEDED_BETWEEN] = "between", [MT_UNNEEDED_PERHAPS] = "perhaps",
};

const char *mt_unneeded_name(enum mt_unneeded_kind kind)
{
    return names[kind];
}

struct moment {
    uint64_t ns, event;
    uint32_t line;  /* that allocates then; 0: not known */
    bool is_killed; /* the trace ends with uses that do not belong to blocks yet */
    struct mt_unneeded_run run;
    const struct mt_device *device;
};

static uint32_t line_of(const struct moment *moment, uint32_t stack)
{
    return mt_request_line(moment->run.definitions, stack, 0);
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

bool mt_unneeded_is_of_iteration(const struct mt_spans *spans, const struct mt_span *span,
                                 uint64_t event, uint64_t moment)
{
    if (spans && spans->turns)
        return mt_turns_at(spans->turns, event) == mt_turns_at(spans->turns, moment);
    while (span && span->iteration && span > spans->span && span[-1].iteration == span->iteration)
        span--;
    return !span || event >= span->event;
}

/* Return whether a block's last use is of the line that allocates at the moment, in the same
 * iteration: no statement can come between them. */
static bool is_of_own_line(const struct moment *moment, const struct mt_block_uses *uses,
                           const struct mt_block *block)
{
    return moment->line && line_of(moment, uses->last.stack) == moment->line &&
           mt_unneeded_is_of_iteration(moment->device->spans, moment->device->span,
                                       mt_block_event(block), moment->event);
}

/* Return whether what is known of a block's uses does not reach the moment. */
static bool is_unknown(const struct mt_block_uses *uses, const struct moment *moment)
{
    return !uses || uses->known_ns < moment->ns ||
           (moment->is_killed && uses->known_ns == moment->ns);
}

/* Return how long a block is unused at least: a quarter of an iteration, as long as they are on the
 * average; of the run if there are none. */
static uint64_t least_pause(const struct mt_replay *replay, const struct mt_spans *spans)
{
    uint64_t turns = spans ? spans->iterations : 0;
    return replay->survey.last_time_ns / (turns ? turns : 1) / 4;
}

/* Between two places of the program, a line that allocates and uses a block first, or uses it
 * twice, is one: it could not do so later. */
unsigned mt_unneeded_times(const struct mt_unneeded_run *run, const struct mt_block_uses *uses,
                           uint32_t stack, struct mt_unneeded_time out[MT_UNNEEDED_TIMES])
{
    const struct mt_definitions *d = run->definitions;
    unsigned n = 0;
    if (uses->is_never || uses->only_written) {
        out[0] = uses->is_never
                     ? (struct mt_unneeded_time){MT_UNNEEDED_NEVER, 0, UINT64_MAX, NULL}
                     : (struct mt_unneeded_time){MT_UNNEEDED_WRITTEN, 0, UINT64_MAX, &uses->last};
        return 1;
    }
    out[n++] =
        (struct mt_unneeded_time){MT_UNNEEDED_AFTER, uses->last.time_ns, UINT64_MAX, &uses->last};
    if (mt_request_line(d, uses->first.stack, 0) != mt_request_line(d, stack, 0))
        out[n++] =
            (struct mt_unneeded_time){MT_UNNEEDED_UNTIL, 0, uses->first.time_ns, &uses->first};
    if (uses->before.time_ns && uses->after.time_ns >= uses->before.time_ns &&
        uses->after.time_ns - uses->before.time_ns >= run->least_pause_ns &&
        mt_request_line(d, uses->before.stack, 0) != mt_request_line(d, uses->after.stack, 0))
        out[n++] = (struct mt_unneeded_time){MT_UNNEEDED_BETWEEN, uses->before.time_ns,
                                             uses->after.time_ns, &uses->before};
    return n;
}

/* Return the kind of a block, and the use to name; MT_UNNEEDED_KINDS: it is needed. */
static enum mt_unneeded_kind kind_of(const struct mt_block_uses *uses, const struct mt_block *block,
                                     const struct moment *moment, const struct mt_use_point **use)
{
    struct mt_unneeded_time time[MT_UNNEEDED_TIMES];
    unsigned n = mt_unneeded_times(&moment->run, uses, block->stack, time);
    *use = NULL;
    for (unsigned i = 0; i < n; i++) {
        if (time[i].from_ns >= moment->ns || moment->ns >= time[i].to_ns)
            continue;
        *use = time[i].use;
        return time[i].kind;
    }
    return MT_UNNEEDED_KINDS;
}

bool mt_unneeded_may_be_used(const struct mt_unneeded_run *run, enum mt_unneeded_kind kind,
                             const struct mt_block_uses *uses, uint64_t made_ns)
{
    uint64_t last = kind == MT_UNNEEDED_NEVER ? made_ns : uses->last.time_ns;
    return run->is_cut && last >= run->quiet_ns &&
           (kind == MT_UNNEEDED_NEVER || kind == MT_UNNEEDED_WRITTEN || kind == MT_UNNEEDED_AFTER);
}

/* Return whether a program may let go of such a block after its last use so far: it is not of the
 * model, and no backward waits for it. */
static bool may_be_let_go(const struct mt_verdict *verdict)
{
    enum mt_category category = verdict->rule->category;
    if (verdict->block->evidence & MT_SAW_SAVED)
        return false;
    return category == MT_CATEGORY_INPUTS || category == MT_CATEGORY_TEMPORARIES ||
           category == MT_CATEGORY_OTHER;
}

/* Return a kind as far as it is known where the run was broken off: what was not used in a whole
 * iteration is not needed. *to_come: uses are to come. */
static enum mt_unneeded_kind kind_if_cut(enum mt_unneeded_kind kind,
                                         const struct mt_block_uses *uses,
                                         const struct mt_verdict *verdict,
                                         const struct moment *moment, bool *to_come)
{
    *to_come = false;
    if (!mt_unneeded_may_be_used(&moment->run, kind, uses, mt_block_time(verdict->block)))
        return kind;
    *to_come = kind != MT_UNNEEDED_AFTER || !may_be_let_go(verdict);
    return *to_come ? MT_UNNEEDED_KINDS : MT_UNNEEDED_PERHAPS;
}

const struct mt_block_uses *mt_device_uses(const struct mt_replay *replay,
                                           const struct mt_device *device,
                                           const struct mt_block *block)
{
    return device->of_cuda ? mt_uses_find(&replay->uses_of_cuda, &replay->cuda.heap, block)
                           : mt_uses_find(&replay->uses_of_blocks, &replay->blocks, block);
}

/* Return when the last iteration began that was complete at a time; 0: there is none, or forwards
 * are counted, of which an iteration may have several. */
static uint64_t begin_of_last(const struct mt_spans *spans, uint64_t ns)
{
    uint32_t now = 0;
    if (!spans || spans->counted == MT_COUNTED_FORWARDS)
        return 0;
    for (size_t i = 0; i < spans->n && spans->span[i].time_ns <= ns; i++)
        now = spans->span[i].iteration ? spans->span[i].iteration : now;
    const struct mt_span *begin = now > 1 ? mt_spans_begin_of(spans, now - 1) : NULL;
    return begin ? begin->time_ns : 0;
}

static struct mt_unneeded begin(const struct mt_survey *survey)
{
    bool is_recorded = survey->kinds[MT_USES] || survey->kinds[MT_USE];
    bool is_unseen = is_recorded && (survey->kinds[MT_UNSEEN_WORK] || mt_survey_lost(survey));
    return (struct mt_unneeded){.is_unseen = is_unseen, .is_known = is_recorded && !is_unseen};
}

struct mt_unneeded_run mt_unneeded_run_of(const struct mt_replay *replay,
                                          const struct mt_spans *spans)
{
    return (struct mt_unneeded_run){.is_known = begin(&replay->survey).is_known,
                                    .is_cut =
                                        mt_ended_of(&replay->survey, NULL).how != MT_ENDED_WHOLE,
                                    .quiet_ns = begin_of_last(spans, UINT64_MAX),
                                    .least_pause_ns = least_pause(replay, spans),
                                    .definitions = replay->definitions};
}

static struct moment moment_of(const struct mt_replay *replay, const struct mt_device *device)
{
    uint64_t ns = replay->at_moment.device_ns[mt_device_slot(device->device)];
    struct moment moment = {.ns = ns,
                            .event = device->at.event,
                            .line = line_at(replay, device),
                            .is_killed = replay->survey.kinds[MT_USE],
                            .run = mt_unneeded_run_of(replay, device->spans),
                            .device = device};
    if (replay->question.moment.kind == MT_AT_OOM) {
        moment.run.is_cut = true;
        moment.run.quiet_ns = begin_of_last(device->spans, ns);
    }
    return moment;
}

bool mt_unneeded_is_judged(enum mt_category category, uint64_t evidence)
{
    return category != MT_CATEGORY_WORKSPACE && !(evidence & (MT_SAW_WORKSPACE | MT_SAW_SEGMENT));
}

/* Return the kind of a block and the use to name, as kind_of does; bytes that count apart are added
 * there. */
static enum mt_unneeded_kind judge(struct mt_unneeded *unneeded, const struct mt_block_uses *known,
                                   const struct mt_verdict *verdict, const struct moment *moment,
                                   const struct mt_use_point **use)
{
    const struct mt_block *block = verdict->block;
    bool to_come = false;
    *use = NULL;
    if (!mt_unneeded_is_judged(verdict->rule->category, block->evidence) ||
        mt_block_time(block) >= moment->ns)
        return MT_UNNEEDED_KINDS;
    if (is_unknown(known, moment)) {
        unneeded->unknown += block->size;
        return MT_UNNEEDED_KINDS;
    }
    enum mt_unneeded_kind kind = kind_of(known, block, moment, use);
    uint64_t *apart = NULL;
    if (kind != MT_UNNEEDED_KINDS && known->is_passed)
        apart = &unneeded->passed;
    else if (kind == MT_UNNEEDED_AFTER && is_of_own_line(moment, known, block))
        apart = &unneeded->of_own_line;
    else
        kind = kind_if_cut(kind, known, verdict, moment, &to_come);
    if (to_come)
        apart = &unneeded->to_come;
    if (apart)
        *apart += block->size;
    return apart ? MT_UNNEEDED_KINDS : kind;
}

static int by_address(const void *address, const void *verdict)
{
    uint64_t one = *(const uint64_t *)address;
    uint64_t other = ((const struct mt_verdict *)verdict)->block->address;
    return (one > other) - (one < other);
}

enum mt_unneeded_kind mt_unneeded_kind_of(const struct mt_device *device,
                                          const struct mt_block *block)
{
    const uint8_t *of = device->unneeded.of;
    const struct mt_verdict *found =
        of ? bsearch(&block->address, device->verdicts, device->n_verdicts,
                     sizeof *device->verdicts, by_address)
           : NULL;
    return found ? (enum mt_unneeded_kind)of[found - device->verdicts] : MT_UNNEEDED_KINDS;
}

/* A block that is freed late, perhaps. */
struct late {
    enum mt_unneeded_kind kind;
    struct mt_verdict verdict;
    struct mt_sum sum; /* to which it belongs */
};

/* Find what holds the blocks of the first sums of a kind. 0 or -ENOMEM. */
static int find_held(struct mt_unneeded *unneeded, enum mt_unneeded_kind kind,
                     const struct mt_device *device, const struct late *late, size_t n)
{
    const struct mt_sums *sums = &unneeded->kind[kind];
    struct mt_verdict *verdicts = calloc(n + 1, sizeof *verdicts);
    int rc = verdicts ? 0 : -ENOMEM;
    for (size_t i = 0; i < sums->n && i < MT_UNNEEDED_HELD && !rc; i++) {
        size_t chosen = 0;
        for (size_t j = 0; j < n; j++)
            if (late[j].kind == kind &&
                !memcmp(late[j].sum.key, sums->sum[i].key, sizeof late->sum.key))
                verdicts[chosen++] = late[j].verdict;
        rc = mt_held_most_of(&unneeded->held[kind][i], device, verdicts, chosen);
    }
    free(verdicts);
    return rc;
}

/* When a block of a size is first used. */
struct begin {
    uint64_t size, ns;
    uint32_t line;
};

MT_ORDER(by_size, struct begin, MT_RISING(size) ?: MT_RISING(ns) ?: MT_RISING(line))

/* Find what is freed late and could hold a block that is first used later. 0 or -ENOMEM. */
static int find_shared(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                       const struct mt_device *device, const struct late *late, size_t n_late)
{
    struct begin *begin = calloc(device->n_verdicts + 1, sizeof *begin);
    size_t n = 0;
    int rc = begin ? 0 : -ENOMEM;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        const struct mt_block_uses *uses = mt_device_uses(replay, device, block);
        if (uses && uses->first.time_ns)
            begin[n++] = (struct begin){block->size, uses->first.time_ns,
                                        mt_line_stack(replay->definitions, block)};
    }
    if (n)
        qsort(begin, n, sizeof *begin, by_size);
    for (size_t i = 0; i < n_late && !rc; i++) {
        const struct mt_block *block = late[i].verdict.block;
        uint64_t last = mt_device_uses(replay, device, block)->last.time_ns;
        size_t low = MT_LEADING(at, n,
                                begin[at].size < block->size ||
                                    (begin[at].size == block->size && begin[at].ns <= last));
        if (late[i].kind != MT_UNNEEDED_AFTER || low == n || begin[low].size != block->size)
            continue;
        uint32_t line = late[i].sum.stack;
        rc = mt_sums_add(&unneeded->shared, block->size,
                         &(struct mt_sum){.key = {line, begin[low].line}, .stack = line});
    }
    mt_sums_sort(&unneeded->shared);
    free(begin);
    return rc;
}

int mt_unneeded_find(struct mt_unneeded *unneeded, const struct mt_replay *replay,
                     const struct mt_device *device)
{
    *unneeded = begin(&replay->survey);
    if (!unneeded->is_known)
        return 0;
    struct moment moment = moment_of(replay, device);
    unneeded->is_cut = moment.run.is_cut;
    unneeded->quiet_ns = moment.run.quiet_ns;
    struct late *late = calloc(device->n_verdicts + 1, sizeof *late);
    size_t n_late = 0;
    unneeded->of = calloc(device->n_verdicts + 1, sizeof *unneeded->of);
    int rc = late && unneeded->of ? 0 : -ENOMEM;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        const struct mt_use_point *use;
        enum mt_unneeded_kind kind = judge(unneeded, mt_device_uses(replay, device, block),
                                           &device->verdicts[i], &moment, &use);
        unneeded->of[i] = (uint8_t)kind;
        if (kind == MT_UNNEEDED_KINDS)
            continue;
        uint32_t line = mt_line_stack(replay->definitions, block);
        uint32_t used = use ? line_of(&moment, use->stack) : 0;
        struct mt_sum sum = {.key = {line, used, use && use->in_backward}, .stack = line};
        rc = mt_sums_add(&unneeded->kind[kind], block->size, &sum);
        unneeded->bytes += kind == MT_UNNEEDED_PERHAPS ? 0 : block->size;
        if (kind == MT_UNNEEDED_AFTER || kind == MT_UNNEEDED_PERHAPS)
            late[n_late++] = (struct late){kind, device->verdicts[i], sum};
    }
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++)
        mt_sums_sort(&unneeded->kind[kind]);
    if (!rc && n_late)
        rc = find_shared(unneeded, replay, device, late, n_late);
    if (!rc && device->n_held)
        rc = find_held(unneeded, MT_UNNEEDED_AFTER, device, late, n_late);
    if (!rc && device->n_held)
        rc = find_held(unneeded, MT_UNNEEDED_PERHAPS, device, late, n_late);
    free(late);
    return rc;
}

void mt_unneeded_clear(struct mt_unneeded *unneeded)
{
    free(unneeded->of);
    mt_sums_clear(&unneeded->shared);
    for (enum mt_unneeded_kind kind = 0; kind < MT_UNNEEDED_KINDS; kind++) {
        mt_sums_clear(&unneeded->kind[kind]);
        for (size_t i = 0; i < MT_UNNEEDED_HELD; i++)
            mt_held_most_clear(&unneeded->held[kind][i]);
    }
}
