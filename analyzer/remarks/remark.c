/* SPDX-License-Identifier: Apache-2.0 */
#include "remark.h"
#include "analyzer/findings/oom.h"
#include "analyzer/model/user-line.h"
#include "trace-format/dtypes.h"

#include <errno.h>
#include <string.h>

#define WORTH 10u           /* a tenth of what is allocated */
#define LEAST_ITERATIONS 6u /* an optimizer may step in every fifth only */
#define LEAST_FORWARDS 3u   /* the backward of several may follow the last of them */

static const char *const names[MT_REMARK_KINDS] = {
    [MT_REMARK_NONE] = "none",
    [MT_REMARK_COPIES] = "weight_copies",
    [MT_REMARK_PREVIOUS] = "previous_turn",
    [MT_REMARK_RECOMPUTED] = "recomputed",
    [MT_REMARK_GRADIENTS] = "untrained_gradients",
    [MT_REMARK_GRAPH] = "evaluation_graph",
    [MT_REMARK_FORWARDS] = "several_forwards",
    [MT_REMARK_DOUBLES] = "float64",
    [MT_REMARK_CONTEXT] = "context",
};

const char *mt_remark_name(enum mt_remark_kind kind)
{
    return names[kind];
}

/* Keep the larger one. sum: with the line as stack. */
static void offer(struct mt_remark *remark, const struct mt_device *device,
                  enum mt_remark_kind kind, const struct mt_sum *sum)
{
    if (!sum->stack || sum->bytes <= remark->bytes || sum->bytes < device->at.allocated / WORTH)
        return;
    *remark = (struct mt_remark){.kind = kind,
                                 .device = device->device,
                                 .bytes = sum->bytes,
                                 .blocks = sum->blocks,
                                 .line = sum->stack};
}

static int count_line(struct mt_sums *lines, const struct mt_device *device,
                      const struct mt_verdict *verdict)
{
    const struct mt_naming naming = {.definitions = device->context.definitions};
    const struct mt_query by_line = {&naming, {MT_BY_PLACE}, 1};
    return mt_query_add(lines, &by_line, verdict);
}

/* Offer the blocks of all lines, with the line that has most of them, and clear the lines. */
static void offer_lines(struct mt_remark *remark, const struct mt_device *device,
                        enum mt_remark_kind kind, struct mt_sums *lines)
{
    mt_sums_sort(lines);
    if (lines->n)
        offer(remark, device, kind,
              &(struct mt_sum){
                  .bytes = lines->bytes, .blocks = lines->blocks, .stack = lines->sum[0].stack});
    mt_sums_clear(lines);
}

/* Find the line with the most copies of parameters of one kind. 0 or -ENOMEM. */
static int find_copies(struct mt_remark *remark, const struct mt_device *device)
{
    const struct mt_naming naming = {.definitions = device->context.definitions,
                                     .rules = device->context.user};
    const struct mt_query query = {&naming, {MT_BY_PLACE, MT_BY_RULE}, 2};
    struct mt_sums sums = {0};
    int rc = 0;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++)
        if (device->verdicts[i].rule->category == MT_CATEGORY_COPIES)
            rc = mt_query_add(&sums, &query, &device->verdicts[i]);
    mt_sums_sort(&sums);
    if (!rc && sums.n) {
        offer(remark, device, MT_REMARK_COPIES, sums.sum);
        if (remark->kind == MT_REMARK_COPIES)
            remark->rule = mt_rule_at(device->context.user, sums.sum->key[1]);
    }
    mt_sums_clear(&sums);
    return rc;
}

/* Return whether a block is in a private pool, whose memory is not the loop's. */
static bool is_private(const struct mt_replay *replay, const struct mt_device *device,
                       const struct mt_block *block)
{
    const struct mt_stream_pools *pools = &replay->reserved.pools;
    uint16_t number = device->of_cuda ? 0
                                      : mt_block_request_of(&replay->reserved.of_blocks,
                                                            mt_heap_index(&replay->blocks, block))
                                            .pool;
    return number && pools->pool[number].pool;
}

enum { PREVIOUS = 1, NEXT, OLDER };

/* Return when a block was allocated, by the turns of the program's loop. Where memory ran out, the
 * run may end before one is freed. */
static uint32_t turn_of(const struct mt_turns *turns, const struct mt_block *block, uint32_t now,
                        const struct mt_oom *failed)
{
    uint32_t turn = mt_turns_at(turns, mt_block_event(block));
    bool is_freed = failed || block->evidence & MT_SAW_END;
    return turn == now ? NEXT : turn && turn + 1 == now && is_freed ? PREVIOUS : OLDER;
}

static uint64_t sum_of(const struct mt_sums *sums, uint32_t place, uint32_t turn)
{
    for (size_t i = 0; i < sums->n; i++)
        if (sums->sum[i].key[0] == place && sums->sum[i].key[1] == turn)
            return sums->sum[i].bytes;
    return 0;
}

/* Add the request that failed, as the next turn's. 0 or -ENOMEM. */
static int add_failed(struct mt_sums *sums, const struct mt_definitions *definitions,
                      const struct mt_oom *failed)
{
    uint32_t line = mt_oom_line(definitions, failed);
    return mt_sums_add(
        sums, failed->wanted,
        &(struct mt_sum){.key = {mt_stack_place(definitions, line), NEXT}, .stack = line});
}

/* Find the line that has allocated as much again in this turn of the loop as is still live of the
 * turn before, and nothing older. Iterations by steps or backward are no turns: what a turn loads
 * first counts in the one before; nor does another thread's. Growth has a sentence of its own. 0 or
 * -ENOMEM. */
static int find_previous(struct mt_remark *remark, const struct mt_replay *replay,
                         const struct mt_device *device)
{
    const struct mt_definitions *definitions = device->context.definitions;
    const struct mt_turns *turns = device->spans ? device->spans->turns : NULL;
    uint32_t now = turns && !turns->are_steps ? mt_turns_at(turns, device->at.event) : 0;
    const struct mt_oom *failed =
        replay->question.moment.kind == MT_AT_OOM ? mt_replay_last_oom(replay) : NULL;
    struct mt_sums sums = {0};
    int rc = 0;
    if (now < 2 || turns->threads || device->growth.per_iteration ||
        (turns->end && device->at.event >= turns->end))
        return 0;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_verdict *verdict = &device->verdicts[i];
        uint32_t line = mt_line_stack(definitions, verdict->block);
        uint32_t turn = turn_of(turns, verdict->block, now, failed);
        if (mt_may_pass(verdict) && !is_private(replay, device, verdict->block))
            rc = mt_sums_add(
                &sums, verdict->block->size,
                &(struct mt_sum){.key = {mt_stack_place(definitions, line), turn}, .stack = line});
    }
    if (!rc && failed && failed->device == device->device)
        rc = add_failed(&sums, definitions, failed);
    mt_sums_sort(&sums);
    for (size_t i = 0; i < sums.n && !rc; i++) {
        const struct mt_sum *sum = &sums.sum[i];
        if (sum->key[1] == PREVIOUS && !sum_of(&sums, sum->key[0], OLDER) &&
            sum_of(&sums, sum->key[0], NEXT) >= sum->bytes)
            offer(remark, device, MT_REMARK_PREVIOUS, sum);
    }
    mt_sums_clear(&sums);
    return rc;
}

static bool is_of_checkpoint(const struct mt_frame *frame)
{
    static const char file[] = "/torch/utils/checkpoint.py";
    size_t size = frame->file ? strlen(frame->file) : 0;
    return size >= sizeof file - 1 && !strcmp(frame->file + size - (sizeof file - 1), file);
}

static bool is_function(const struct mt_frame *frame, const char *name)
{
    const char *last = frame->function ? strrchr(frame->function, '.') : NULL;
    const char *own = last ? last + 1 : frame->function;
    return own && !strcmp(own, name);
}

/* Return the stack of the innermost frame of torch.utils.checkpoint from a stack on; 0: none. */
static uint32_t within_checkpoint(const struct mt_definitions *definitions, uint32_t stack)
{
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent)
        if (is_of_checkpoint(mt_stack_frame(definitions, stack)))
            return stack;
    return 0;
}

/* Return the stack of the innermost of these frames that is of a function; 0: none. */
static uint32_t within_function(const struct mt_definitions *definitions, uint32_t stack,
                                const char *name)
{
    stack = within_checkpoint(definitions, stack);
    while (stack && !is_function(mt_stack_frame(definitions, stack), name))
        stack = within_checkpoint(definitions, mt_stack(definitions, stack)->parent);
    return stack;
}

/* Return whether a checkpoint's forward allocated the block when it ran again in backward. */
static bool is_recomputed(const struct mt_definitions *definitions, const struct mt_block *block)
{
    uint32_t stack = within_checkpoint(definitions, block->stack);
    return stack && (within_function(definitions, stack, "recompute_fn") ||
                     (within_function(definitions, stack, "backward") && !block->node_name));
}

/* Return the line that calls the only checkpoint under which a line runs; 0: none, or several. */
static uint32_t line_of_checkpoint(const struct mt_definitions *definitions, uint32_t place)
{
    uint32_t found = 0, limit = mt_definitions_stack_limit(definitions);
    for (uint32_t stack = 1; stack < limit; stack++) {
        if (!mt_stack(definitions, stack)->depth || mt_stack_place(definitions, stack) != place)
            continue;
        uint32_t checkpoint = within_function(definitions, stack, "checkpoint");
        uint32_t line = checkpoint ? mt_stack_line(definitions, checkpoint) : 0;
        if (line && found &&
            mt_stack_place(definitions, line) != mt_stack_place(definitions, found))
            return 0;
        found = line ? line : found;
    }
    return found;
}

/* Find what is recomputed, if it is half of what is allocated: one checkpoint is around too much.
 */
static void find_recomputed(struct mt_remark *remark, const struct mt_device *device)
{
    const struct mt_definitions *definitions = device->context.definitions;
    struct mt_sum sum = {0};
    uint32_t line = 0;
    uint64_t largest = 0;
    if (!device->span || device->at.when.phase != MT_PHASE_BACKWARD ||
        device->category[MT_CATEGORY_ACTIVATIONS].bytes < device->at.allocated / 2)
        return;
    for (size_t i = 0; i < device->n_verdicts; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        if (device->verdicts[i].rule->category != MT_CATEGORY_ACTIVATIONS ||
            !is_recomputed(definitions, block))
            continue;
        sum.bytes += block->size;
        sum.blocks++;
        if (block->size > largest) {
            largest = block->size;
            line = mt_line_stack(definitions, block);
        }
    }
    if (sum.bytes < device->at.allocated / 2 || sum.blocks < 2)
        return;
    sum.stack = line_of_checkpoint(definitions, mt_stack_place(definitions, line));
    offer(remark, device, MT_REMARK_RECOMPUTED, &sum);
}

/* Return whether an optimizer has a block whose objects were not read, or that is not PyTorch's. */
static bool is_of_unread(const struct mt_verdict *verdict)
{
    return verdict->rule->category == MT_CATEGORY_OPTIMIZER_STATE &&
           !(verdict->block->evidence & (MT_SAW_STATE | MT_SAW_STEPPED));
}

/* Note the leaves' stacks: 1: only of parameters that no optimizer has; 2: others. 0 or -ENOMEM;
 * -ENOENT: it is not known of all, or what an optimizer has are copies of the leaves. */
static int find_stepped(struct mt_address_map *leaves, const struct mt_device *device)
{
    bool are_any = false;
    int rc = 0;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        bool is_stepped = block->evidence & MT_SAW_STEPPED;
        if (is_of_unread(&device->verdicts[i]) || (is_stepped && !(block->evidence & MT_SAW_LEAF)))
            return -ENOENT;
        if (!is_stepped && device->verdicts[i].rule->category != MT_CATEGORY_PARAMETERS)
            continue;
        uint32_t stack = mt_leaf_stack(device->context.definitions, block);
        are_any |= is_stepped;
        if (stack && (is_stepped || !mt_address_map_get(leaves, stack)))
            rc = mt_address_map_put(leaves, stack, is_stepped ? 2 : 1);
    }
    return rc || are_any ? rc : -ENOENT;
}

/* Find gradients for parameters that the optimizer does not have: a teacher's, or those of a model
 * that is not to be trained. Of several optimizers, one without state is not seen to have any. 0 or
 * -ENOMEM. */
static int find_gradients(struct mt_remark *remark, const struct mt_replay *replay,
                          const struct mt_device *device)
{
    struct mt_address_map leaves = {0};
    struct mt_sums lines = {0};
    if (!device->spans || device->spans->iterations < LEAST_ITERATIONS || replay->trainers.differ ||
        replay->survey.kinds[MT_STEP] > device->spans->iterations)
        return 0;
    int rc = find_stepped(&leaves, device);
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        if (!(block->evidence & MT_SAW_GRADIENT) || !block->leaf_stack ||
            mt_address_map_get(&leaves, block->leaf_stack) != 1)
            continue;
        rc = count_line(&lines, device, &device->verdicts[i]);
    }
    offer_lines(remark, device, MT_REMARK_GRADIENTS, &lines);
    mt_address_map_clear(&leaves);
    return rc == -ENOENT ? 0 : rc;
}

/* Count the activations that nodes saved, allocated from an event on and before another one. 0 or
 * -ENOMEM. */
static int count_saved(struct mt_sums *lines, const struct mt_device *device, uint64_t begin,
                       uint64_t end)
{
    int rc = 0;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++) {
        const struct mt_block *block = device->verdicts[i].block;
        uint64_t event = mt_block_event(block);
        if (block->evidence & MT_SAW_SAVED && event >= begin && event < end &&
            device->verdicts[i].rule->category == MT_CATEGORY_ACTIVATIONS)
            rc = count_line(lines, device, &device->verdicts[i]);
    }
    return rc;
}

/* Events of forwards that no backward follows: an evaluation's, or all. */
struct unfollowed {
    uint64_t begin, end; /* before it; 0: none are known */
};

static struct unfollowed find_unfollowed(const struct mt_replay *replay,
                                         const struct mt_device *device)
{
    const struct mt_spans *spans = device->spans;
    const struct mt_span *span = device->span, *end;
    struct unfollowed none = {0};
    if (!span || mt_replay_ends_in_oom(replay))
        return none;
    if (!replay->survey.kinds[MT_NODE_BEGIN])
        return spans->iterations >= LEAST_FORWARDS ? (struct unfollowed){1, UINT64_MAX} : none;
    while (span > spans->span && !mt_span_evaluates(span))
        span--;
    for (end = span; end < spans->span + spans->n && mt_span_evaluates(end);)
        end++;
    while (span > spans->span && mt_span_evaluates(span - 1))
        span--;
    if (span == end)
        return none;
    return (struct unfollowed){span->event, end < spans->span + spans->n ? end->event : UINT64_MAX};
}

/* Find what the last evaluation saves for a backward that never comes: torch.no_grad() is missing.
 * Growth in evaluations has a sentence of its own. 0 or -ENOMEM. */
static int find_graph(struct mt_remark *remark, const struct mt_replay *replay,
                      const struct mt_device *device)
{
    struct unfollowed forwards = find_unfollowed(replay, device);
    struct mt_sums lines = {0};
    if (!forwards.end || device->growth.turns)
        return 0;
    int rc = count_saved(&lines, device, forwards.begin, forwards.end);
    offer_lines(remark, device, MT_REMARK_GRAPH, &lines);
    return rc;
}

/* Find what several calls of the model by one line save for one backward: those of a batch in
 * parts, whose losses are added up. 0 or -ENOMEM. */
static int find_forwards(struct mt_remark *remark, const struct mt_replay *replay,
                         const struct mt_device *device)
{
    struct mt_pending pending;
    struct mt_sums lines = {0};
    if (!device->span || !replay->survey.kinds[MT_NODE_BEGIN] ||
        mt_device_part(device) == MT_PART_EVALUATION)
        return 0;
    mt_spans_pending(device->spans, device->at.event, &pending);
    if (pending.calls < LEAST_FORWARDS)
        return 0;
    int rc = count_saved(&lines, device, pending.begin, pending.end);
    offer(remark, device, MT_REMARK_FORWARDS,
          &(struct mt_sum){.bytes = lines.bytes,
                           .blocks = lines.blocks,
                           .stack = mt_stack_line(device->context.definitions, pending.caller)});
    mt_sums_clear(&lines);
    if (remark->kind == MT_REMARK_FORWARDS)
        remark->calls = pending.calls;
    return rc;
}

/* Find tensors of float64, as NumPy makes them unasked. 0 or -ENOMEM. */
static int find_doubles(struct mt_remark *remark, const struct mt_device *device)
{
    struct mt_sums lines = {0};
    int rc = 0;
    for (size_t i = 0; i < device->n_verdicts && !rc; i++)
        if (device->verdicts[i].block->dtype == MT_DTYPE_FLOAT64)
            rc = count_line(&lines, device, &device->verdicts[i]);
    offer_lines(remark, device, MT_REMARK_DOUBLES, &lines);
    return rc;
}

/* Find a context on another device that the program leaves empty long before the peak. */
static void find_context(struct mt_remark *remark, const struct mt_analysis *analysis,
                         const struct mt_device *main, const struct mt_device *device)
{
    const struct mt_replay *replay = &analysis->replay;
    const struct mt_block *first = NULL;
    unsigned slot = mt_device_slot(device->device);
    if (device == main || device->of_cuda || !main->is_peak || !device->balance.knows_own ||
        !device->spans->n || device->spans->last >= main->at.event ||
        replay->blocks.total[slot].bytes)
        return;
    for (size_t i = 0; i < device->n_verdicts; i++)
        if (mt_block_event(device->verdicts[i].block) == device->spans->span[0].event)
            first = device->verdicts[i].block;
    struct mt_sum sum = {.bytes = device->balance.runtime, .blocks = 1};
    if (!first || sum.bytes < device->peak.allocated)
        return;
    sum.stack = mt_line_stack(device->context.definitions, first);
    offer(remark, device, MT_REMARK_CONTEXT, &sum);
}

int mt_remark_find(struct mt_remark *remark, const struct mt_analysis *analysis)
{
    const struct mt_device *device = mt_analysis_main_device(analysis);
    struct mt_remark found = {0};
    *remark = found;
    int rc = device ? find_copies(&found, device) : 0;
    if (!rc && device)
        rc = find_previous(&found, &analysis->replay, device);
    if (!rc && device)
        rc = find_gradients(&found, &analysis->replay, device);
    if (!rc && device)
        rc = find_graph(&found, &analysis->replay, device);
    if (!rc && device)
        rc = find_forwards(&found, &analysis->replay, device);
    if (!rc && device)
        rc = find_doubles(&found, device);
    if (rc || !device)
        return rc;
    find_recomputed(&found, device);
    for (size_t i = 0; i < analysis->n_devices; i++)
        find_context(&found, analysis, device, &analysis->devices[i]);
    *remark = found;
    return 0;
}
