/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis.h"
#include "analyzer/support/search.h"
#include "analyzer/support/text.h"
#include "inspect.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void count(struct mt_device *device, const struct mt_verdict *verdict)
{
    struct mt_share *shares[] = {
        &device->category[verdict->rule->category],
        &device->by_rule[mt_rule_index(device->context.user, verdict->rule)]};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        shares[i]->bytes += verdict->block->size;
        shares[i]->blocks++;
    }
}

MT_ORDER(by_address, struct mt_verdict, MT_RISING(block->address))

static bool is_of(const struct mt_heap *heap, uint32_t index, unsigned slot)
{
    const struct mt_block *block = mt_heap_record(heap, index);
    return mt_heap_is_remembered(heap, block) && mt_device_slot(block->device) == slot;
}

/* Judge the blocks that a heap remembers. */
static int judge(struct mt_device *device, const struct mt_heap *heap,
                 const struct mt_block_requests *requests, unsigned slot,
                 struct mt_rule_context *context)
{
    size_t n = 0;
    for (uint32_t i = 1; i < heap->n_records; i++)
        n += is_of(heap, i, slot);
    device->verdicts = n ? calloc(n, sizeof *device->verdicts) : NULL;
    if (n && !device->verdicts)
        return -ENOMEM;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        if (!is_of(heap, i, slot))
            continue;
        struct mt_verdict *verdict = &device->verdicts[device->n_verdicts++];
        verdict->block = mt_heap_record(heap, i);
        verdict->unused = requests ? mt_block_request_of(requests, i).unused : 0;
        device->unused += verdict->unused;
    }
    if (device->n_verdicts)
        qsort(device->verdicts, device->n_verdicts, sizeof *device->verdicts, by_address);
    return mt_classify_all(context, device->verdicts, device->n_verdicts);
}

/* Choose PyTorch's blocks if it ever used the device, else CUDA's. */
static void choose_level(struct mt_device *device, const struct mt_replay *replay, unsigned slot)
{
    device->device = (int)slot - 1;
    device->is_peak = replay->question.moment.kind == MT_AT_PEAK;
    device->of_cuda = replay->of_torch.peak[slot].event == 0;
    device->peak = mt_replay_level(replay, device->of_cuda)->peak[slot];
    device->at = mt_replay_level(replay, device->of_cuda)->at[slot];
    if (device->at.reserved > device->at.allocated)
        device->cached = device->at.reserved - device->at.allocated;
    if (device->at.allocated > device->at.known_bytes)
        device->unseen = device->at.allocated - device->at.known_bytes;
}

/* Find what a program without PyTorch never freed. Of one that was killed, or that has PyTorch,
 * whose tensors live to the end, it is not known. 0 or -ENOMEM. */
static int find_leaks(struct mt_sums *leaks, const struct mt_replay *replay, unsigned slot)
{
    const struct mt_heap *heap = &replay->cuda.heap;
    if (!replay->survey.complete || mt_info(replay->definitions, "torch"))
        return 0;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (block->state == MT_BLOCK_LIVE && mt_device_slot(block->device) == slot &&
            mt_sums_count(leaks, block->stack, block->size))
            return -ENOMEM;
    }
    mt_sums_sort(leaks);
    return 0;
}

struct made {
    uint64_t event, size;
};

MT_ORDER(by_event, struct made, MT_RISING(event))

#define RISING_LEAST 8u

/* Find whether the blocks of the stack with most bytes are each larger than the one before. */
static int find_rising(struct mt_device *device)
{
    struct mt_sums sums = {0};
    struct made *made = calloc(device->n_verdicts + 1, sizeof *made);
    uint32_t n = 0, rises = 1;
    int rc = made ? 0 : -ENOMEM;
    for (size_t i = 0; !rc && i < device->n_verdicts; i++)
        rc =
            mt_sums_count(&sums, device->verdicts[i].block->stack, device->verdicts[i].block->size);
    mt_sums_sort(&sums);
    uint32_t stack = !rc && sums.n ? sums.sum[0].stack : 0;
    for (size_t i = 0; stack && i < device->n_verdicts; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        if (block->stack == stack)
            made[n++] = (struct made){mt_block_event(block), block->size};
    }
    if (n)
        qsort(made, n, sizeof *made, by_event);
    while (rises < n && made[rises].size > made[rises - 1].size)
        rises++;
    if (n >= RISING_LEAST && rises == n)
        device->rising = (struct mt_rising){stack, n, made[0].size, made[n - 1].size};
    mt_sums_clear(&sums);
    free(made);
    return rc;
}

/* Return the pool of the request that failed, if that is the moment. */
static uint16_t own_pool(const struct mt_replay *replay, unsigned slot)
{
    const struct mt_oom *oom = mt_replay_last_oom(replay);
    return replay->question.moment.kind == MT_AT_OOM && oom && mt_device_slot(oom->device) == slot
               ? oom->pool
               : 0;
}

static int find_story(struct mt_device *device, const struct mt_replay *replay, unsigned slot)
{
    device->spans = &replay->spans[slot];
    device->timeline = &replay->timeline[slot];
    for (enum mt_free_kind kind = 0; kind < MT_FREE_KINDS; kind++)
        device->worst[kind] = &replay->reserved.worst[kind][slot];
    device->most_reserved = &replay->reserved.most[slot];
    device->span = mt_spans_at(device->spans, device->at.when.run, device->at.event);
    int rc = device->of_cuda ? 0
                             : mt_segments_find(&device->segments, replay, slot, device->verdicts,
                                                device->n_verdicts);
    if (!rc)
        rc = mt_balance_find(&device->balance, replay, slot, &device->at, device->verdicts,
                             device->of_cuda ? 0 : device->n_verdicts);
    if (!rc && !device->of_cuda)
        rc = mt_private_pools_find(&device->private_pools, replay, slot, device->verdicts,
                                   device->n_verdicts);
    if (!rc && !device->of_cuda)
        rc = mt_cached_find(&device->cached_by, replay, &device->segments, device->cached,
                            own_pool(replay, slot));
    if (!rc && !device->of_cuda)
        rc = mt_cached_find_most(&device->most_cached_by, replay, slot);
    if (!rc)
        rc = mt_pins_find(&device->pins, &device->segments, ~0u, device->verdicts,
                          replay->definitions);
    if (!rc)
        rc = mt_precision_find(&device->precision, replay->definitions, &replay->tracker.parts,
                               device->verdicts, device->n_verdicts);
    mt_serving_budget_find(&device->serving, replay, slot);
    device->cache_room =
        mt_cache_room_find(&replay->tracker.rooms, device->verdicts, device->n_verdicts);
    if (device->of_cuda)
        device->foreign_pool =
            mt_foreign_pool_find(replay->definitions, device->verdicts, device->n_verdicts);
    if (!rc)
        rc = mt_held_find(device, replay, slot);
    if (rc || !device->span)
        return rc;
    device->next = mt_spans_highest(device->spans, device->span->phase);
    rc = mt_growth_find(&device->growth, device, replay);
    if (rc || replay->question.moment.kind != MT_AT_OOM || device->span->phase != MT_PHASE_FORWARD)
        return rc;
    return mt_growth_find_forwards(&device->of_forwards, device);
}

const char *const mt_part_names[] = {
    [MT_PART_IN] = "in", [MT_PART_AFTER] = "after", [MT_PART_EVALUATION] = "evaluation"};

enum mt_span_part mt_device_part(const struct mt_device *device)
{
    if (mt_span_is_beside(device->spans, device->span))
        return MT_PART_EVALUATION;
    bool is_outside = device->at.when.phase == MT_PHASE_OUTSIDE && !device->at.when.serving &&
                      device->span->phase != MT_PHASE_OUTSIDE;
    return is_outside && device->span->iteration ? MT_PART_AFTER : MT_PART_IN;
}

static int analyze_device(struct mt_analysis *analysis, unsigned slot)
{
    const struct mt_replay *replay = &analysis->replay;
    struct mt_device *device = &analysis->devices[analysis->n_devices++];
    device->context = mt_replay_context(replay);
    choose_level(device, replay, slot);
    device->by_rule = calloc(mt_rules_count(replay->question.rules), sizeof *device->by_rule);
    if (!device->by_rule)
        return -ENOMEM;
    int rc =
        device->of_cuda
            ? judge(device, &replay->cuda.heap, &replay->of_cuda_blocks, slot, &device->context)
            : judge(device, &replay->blocks, &replay->reserved.of_blocks, slot, &device->context);
    for (size_t i = 0; !rc && i < device->n_verdicts; i++)
        count(device, &device->verdicts[i]);
    if (!rc)
        rc = find_story(device, replay, slot);
    if (!rc)
        rc = mt_filtered_blocks(device, &replay->question.filter, replay->definitions);
    const struct mt_naming naming = mt_replay_naming(replay);
    const struct mt_query groups = mt_query_by(&naming, replay->question.by);
    if (!rc && replay->question.by != MT_BY_SITE)
        rc = mt_groups_collect(&device->groups, &groups, device->shown, device->n_shown);
    if (!rc && device->of_cuda)
        rc = find_leaks(&device->leaks, replay, slot) ?: find_rising(device);
    if (!rc && device->of_cuda)
        rc = mt_idle_find(&device->idle, replay,
                          device->is_peak ? device->at.time_ns : replay->at_moment.time_ns,
                          device->verdicts, device->n_verdicts);
    if (!rc)
        rc = mt_unneeded_find(&device->unneeded, replay, device);
    if (!rc)
        rc = mt_sites_collect(&device->sites, &naming, device->shown, device->n_shown,
                              replay->question.library_frames);
    mt_filtered_sites(&device->sites, &replay->question.filter, replay->definitions);
    mt_filtered_groups(&device->groups, &replay->question.filter);
    if (!rc)
        rc = mt_held_sites(device, &naming);
    return rc;
}

static int analyze_devices(struct mt_analysis *analysis)
{
    analysis->devices = calloc(MT_DEVICES, sizeof *analysis->devices);
    if (!analysis->devices)
        return -ENOMEM;
    const struct mt_question *question = &analysis->replay.question;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        if (!mt_inspect_is_used(&analysis->replay, slot))
            continue;
        if (question->one_device && slot != mt_device_slot(question->device))
            continue;
        int rc = analyze_device(analysis, slot);
        if (rc)
            return rc;
    }
    return 0;
}

static unsigned highest_slot(const struct mt_replay *replay)
{
    const struct mt_question *question = &replay->question;
    unsigned best = question->one_device ? mt_device_slot(question->device) : 0;
    uint64_t most = 0;
    for (unsigned slot = 0; slot < MT_DEVICES && !question->one_device; slot++) {
        const struct mt_totals *peak =
            &mt_replay_level(replay, !replay->of_torch.peak[slot].event)->peak[slot];
        if (peak->event && peak->allocated > most) {
            most = peak->allocated;
            best = slot;
        }
    }
    return best;
}

/* Find the moment that a first replay shows. Return whether the trace has it. */
static bool find_moment(struct mt_moment *found, const struct mt_replay *replay,
                        const struct mt_moment *moment)
{
    const struct mt_holders *holders = &replay->holders;
    if (moment->kind == MT_AT_HOLDERS && holders->n)
        *found = (struct mt_moment){MT_AT_TIME, holders->list[holders->n - 1].time_ns};
    if (moment->kind == MT_AT_HOLDERS)
        return holders->n > 0;
    const struct mt_spans *spans = &replay->spans[highest_slot(replay)];
    bool at_begin = moment->kind == MT_AT_BEGIN;
    uint64_t number = moment->kind == MT_AT_LAST ? spans->iterations : moment->value;
    const struct mt_span *span =
        at_begin ? mt_spans_begin_of(spans, number) : mt_spans_of_iteration(spans, number);
    if (span)
        *found = (struct mt_moment){MT_AT_EVENT, at_begin ? span->before : span->most_event};
    return span != NULL;
}

/* Replay once more: the events of an iteration, and the moment of holders, are only known at the
 * trace's end. If it does not exist, the replay stays at the peak. */
static int replay_step(struct mt_analysis *analysis, const char *path,
                       const struct mt_question *question)
{
    struct mt_question step = *question;
    step.moment.kind = MT_AT_PEAK;
    int rc = mt_replay(path, &step, &analysis->replay, &analysis->fault);
    bool has_moment = !rc && find_moment(&step.moment, &analysis->replay, &question->moment);
    if (has_moment) {
        mt_replay_clear(&analysis->replay);
        rc = mt_replay(path, &step, &analysis->replay, &analysis->fault);
    }
    analysis->replay.question.moment = question->moment;
    analysis->has_no_step = !has_moment;
    return rc;
}

/* Where the moment has few or none of the blocks that are left behind, find their lines at the last
 * turn. 0 or a negative errno. */
static int find_lines_of_growth(struct mt_analysis *analysis, const char *path,
                                const struct mt_question *question)
{
    const struct mt_device *main = mt_analysis_main_device(analysis);
    struct mt_question last = *question;
    struct mt_analysis at_last;
    if (!main || !main->span || !main->growth.per_iteration || main->growth.turns ||
        question->watcher || question->lives || question->folds_spans ||
        question->moment.kind == MT_AT_OOM || main->span->iteration + 1 >= main->spans->iterations)
        return 0;
    const struct mt_span *span = mt_spans_of_iteration(main->spans, main->spans->iterations);
    if (!span)
        return 0;
    last.moment = (struct mt_moment){MT_AT_EVENT, span->most_event};
    last.whole_run = 0;
    int rc = mt_analysis_create(&at_last, path, &last);
    for (size_t i = 0; !rc && i < analysis->n_devices && i < at_last.n_devices; i++) {
        struct mt_growth *to = &analysis->devices[i].growth, *from = &at_last.devices[i].growth;
        if (!to->per_iteration || !from->n)
            continue;
        struct mt_growth ours = *to; /* at_last's destroys the lines that are replaced */
        to->site = from->site;
        to->n = from->n;
        to->before = from->before;
        from->site = ours.site;
        from->n = ours.n;
    }
    mt_analysis_destroy(&at_last);
    return rc;
}

int mt_analysis_create(struct mt_analysis *analysis, const char *path,
                       const struct mt_question *question)
{
    memset(analysis, 0, sizeof *analysis);
    int rc = question->moment.kind >= MT_AT_BEGIN
                 ? replay_step(analysis, path, question)
                 : mt_replay(path, question, &analysis->replay, &analysis->fault);
    if (!rc)
        rc = analyze_devices(analysis);
    if (!rc)
        rc = mt_host_find(&analysis->host, &analysis->replay.host, analysis->replay.definitions);
    if (!rc)
        rc = mt_growth_find_host(&analysis->host_growth, mt_analysis_main_device(analysis),
                                 &analysis->replay);
    if (!rc)
        rc = find_lines_of_growth(analysis, path, question);
    return rc;
}

void mt_analysis_destroy(struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++) {
        free(analysis->devices[i].by_rule);
        free(analysis->devices[i].verdicts);
        free(analysis->devices[i].own_shown);
        free(analysis->devices[i].held);
        for (unsigned kind = 0; kind < MT_HELD_KINDS; kind++)
            mt_held_most_clear(&analysis->devices[i].held_by[kind]);
        mt_sites_clear(&analysis->devices[i].sites);
        mt_groups_clear(&analysis->devices[i].groups);
        mt_sums_clear(&analysis->devices[i].leaks);
        mt_idle_clear(&analysis->devices[i].idle);
        mt_unneeded_clear(&analysis->devices[i].unneeded);
        mt_segments_clear(&analysis->devices[i].segments);
        mt_cached_clear(&analysis->devices[i].cached_by);
        mt_cached_clear(&analysis->devices[i].most_cached_by);
        mt_growth_clear(&analysis->devices[i].growth);
        mt_growth_clear(&analysis->devices[i].of_forwards);
        mt_equal_sets_clear(&analysis->devices[i].context.copies);
    }
    free(analysis->devices);
    mt_sums_clear(&analysis->host);
    mt_growth_clear(&analysis->host_growth);
    mt_replay_clear(&analysis->replay);
    memset(analysis, 0, sizeof *analysis);
}

const struct mt_device *mt_analysis_device(const struct mt_analysis *analysis, int device)
{
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (analysis->devices[i].device == device)
            return &analysis->devices[i];
    return NULL;
}

const struct mt_device *mt_analysis_main_device(const struct mt_analysis *analysis)
{
    const struct mt_device *best = NULL;
    for (size_t i = 0; i < analysis->n_devices; i++)
        if (!best || analysis->devices[i].peak.allocated > best->peak.allocated)
            best = &analysis->devices[i];
    return best;
}

struct mt_ended mt_analysis_ended(const struct mt_analysis *analysis)
{
    return mt_ended_of(&analysis->replay.survey, &analysis->fault);
}

const char *mt_no_moment_text(const struct mt_analysis *analysis, char out[MT_NO_MOMENT])
{
    const struct mt_replay *replay = &analysis->replay;
    const struct mt_moment *moment = &replay->question.moment;
    const struct mt_device *device = mt_analysis_main_device(analysis);
    unsigned iterations = device && device->spans ? device->spans->iterations : 0;
    char end[MT_SIZE_TEXT];
    if (moment->kind == MT_AT_OOM && !replay->ooms.n)
        snprintf(out, MT_NO_MOMENT, "the program never ran out of memory; use --at peak");
    else if (analysis->has_no_step && moment->kind == MT_AT_HOLDERS)
        snprintf(out, MT_NO_MOMENT, "%s", MT_NO_HOLDERS);
    else if (analysis->has_no_step && iterations)
        snprintf(out, MT_NO_MOMENT, "the trace has iterations 1 to %u only", iterations);
    else if (analysis->has_no_step)
        snprintf(out, MT_NO_MOMENT, "the trace has no iterations; use --at with a time");
    else if (moment->kind == MT_AT_TIME && moment->value > mt_survey_length_ns(&replay->survey))
        snprintf(out, MT_NO_MOMENT, "the trace ends at %s; use --at with an earlier time",
                 mt_time_text(end, mt_survey_length_ns(&replay->survey)));
    else
        return NULL;
    return out;
}
