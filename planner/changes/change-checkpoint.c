/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.utils.checkpoint around modules: what they save in forward ends there, and is made again
 * when their backward begins.
 */
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "kinds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return whether the path begins with the pattern, in which a "*" stands for one part: bytes of the
 * module's own path; 0: it does not. */
static size_t match(const char *path, const char *pattern)
{
    const char *at = path;
    for (;;) {
        size_t wanted = strcspn(pattern, "."), size = strcspn(at, ".");
        bool is_any = wanted == 1 && *pattern == '*';
        if (!size || (!is_any && (wanted != size || strncmp(pattern, at, size) != 0)))
            return 0;
        pattern += wanted;
        at += size;
        if (!*pattern)
            return (size_t)(at - path);
        if (!*at)
            return 0;
        pattern++;
        at++;
    }
}

struct checkpoint {
    struct mt_edits *edits;
    struct mt_by_id of_frame; /* frame of a module -> number of the matching one, from 1 */
    struct mt_module_calls calls;
    struct mt_call_lines lines;
    bool *is_output; /* of a node, by block */
};

static int find_modules(struct checkpoint *checkpoint, const char *pattern)
{
    size_t n;
    int rc =
        mt_modules_number(&checkpoint->of_frame, checkpoint->edits->recording, match, pattern, &n);
    return rc ? rc : n ? 0 : -ENOENT;
}

static bool may_go(const struct mt_recorded_block *block)
{
    return block->category != MT_CATEGORY_PARAMETERS && block->category != MT_CATEGORY_BUFFERS &&
           block->category != MT_CATEGORY_COPIES && block->category != MT_CATEGORY_WORKSPACE &&
           block->category != MT_CATEGORY_GRADIENTS &&
           block->category != MT_CATEGORY_OPTIMIZER_STATE;
}

static uint64_t last_save(const struct mt_recording *recording, const struct mt_module_call *call)
{
    uint64_t last = 0;
    for (size_t i = mt_first_made(recording, call->forward);
         i < recording->n && recording->block[i].begin < call->forward_end; i++)
        if (recording->block[i].saved > last && recording->block[i].saved < call->forward_end)
            last = recording->block[i].saved;
    return last;
}

/* Return a moment in the recomputation, for one in forward. */
static uint64_t again(const struct mt_module_call *call, uint64_t event)
{
    uint64_t length = call->forward_end - call->forward + 2, place = event - call->forward + 1;
    uint64_t room = MT_WITHIN - 4;
    return mt_moment_of(call->backward) - MT_WITHIN + 1 +
           (length < room ? place : place * room / length);
}

static void recompute(struct checkpoint *checkpoint, const struct mt_module_call *call,
                      struct mt_modelled *change)
{
    struct mt_edits *edits = checkpoint->edits;
    const struct mt_recording *recording = edits->recording;
    uint64_t output = mt_call_output(recording, call), last = last_save(recording, call);
    for (size_t i = mt_first_made(recording, call->forward);
         i < recording->n && recording->block[i].begin < call->forward_end; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool lives_on = block->end > call->forward_end;
        bool is_scratch = block->category == MT_CATEGORY_WORKSPACE && !lives_on;
        if (!may_go(block) && !is_scratch)
            continue;
        bool is_saved = block->saved && block->saved < call->forward_end;
        change->operators += call->backward && block->begin <= last && !is_scratch;
        if (block->begin > last || (lives_on && !is_saved))
            continue; /* it is not allocated again: nothing was saved after it */
        uint64_t end = lives_on ? edits->block[i].end : again(call, block->end);
        if (call->backward)
            mt_edits_add(edits, again(call, block->begin), end, edits->block[i].size);
        if (!lives_on || block->begin == output)
            continue;
        const struct mt_turn *turn = mt_turn_after(recording, block->saved);
        uint64_t gone = turn && turn->event < call->forward_end ? turn->event : call->forward_end;
        edits->block[i].end = mt_moment_of(gone);
    }
}

#define LOOK_BACK 64u

/* Keep what goes into the call until it runs again: its caller has it until then at least. It is
 * the newest output from before, and need not be what an operator of the call saves. */
static void hold_input(const struct checkpoint *checkpoint, const struct mt_module_call *call)
{
    struct mt_edits *edits = checkpoint->edits;
    const struct mt_recording *recording = edits->recording;
    size_t first = mt_first_made(recording, call->forward);
    for (size_t i = first; call->backward && i && first - i < LOOK_BACK; i--) {
        const struct mt_recorded_block *block = &recording->block[i - 1];
        struct mt_edit *edit = &edits->block[i - 1];
        if (!checkpoint->is_output[i - 1] || block->phase != MT_PHASE_FORWARD ||
            block->end < call->forward_end || edit->end < mt_moment_of(call->forward_end))
            continue;
        if (edit->end < mt_moment_of(call->backward))
            edit->end = mt_moment_of(call->backward);
        return;
    }
}

/* Return the call that is at work at a moment of forward; NULL: none. */
static const struct mt_module_call *call_at(const struct mt_module_calls *calls, uint64_t event)
{
    size_t low = MT_LEADING(i, calls->n, calls->call[i].forward <= event);
    return low && event < calls->call[low - 1].forward_end ? &calls->call[low - 1] : NULL;
}

/* Recompute what was added: copies that were saved for backward go with what they are copies of. */
static void recompute_added(struct checkpoint *checkpoint)
{
    struct mt_edits *edits = checkpoint->edits;
    size_t n = edits->n;
    for (size_t i = edits->recording->n; i < n; i++) {
        const struct mt_edit copy = edits->block[i];
        uint64_t made = (copy.begin >> MT_WITHIN_BITS) + 1;
        const struct mt_module_call *call =
            copy.as == MT_ADDED_SAVED ? call_at(&checkpoint->calls, made) : NULL;
        if (!call || !call->backward || copy.end <= mt_moment_of(call->forward_end))
            continue;
        edits->block[i].end = copy.begin + 2;
        mt_edits_add(edits, again(call, made), copy.end, copy.size);
    }
}

/* Return whether the call runs under torch.utils.checkpoint as it is. */
static bool is_in_force(const struct mt_recording *recording, const struct mt_module_call *call)
{
    size_t i = mt_first_made(recording, call->forward);
    return i < recording->n && recording->block[i].begin < call->forward_end &&
           mt_is_checkpointed(recording, recording->block[i].stack);
}

/* Return whether the pass is left alone: programs often checkpoint in training only. */
static bool is_left_alone(const struct checkpoint *checkpoint, const struct mt_module_call *call)
{
    struct mt_edits *edits = checkpoint->edits;
    if (!mt_call_evaluates(&checkpoint->lines, edits->recording, call))
        return false;
    edits->guesses |= MT_GUESS_CALLS;
    return edits->without & MT_GUESS_CALLS;
}

static int apply(struct checkpoint *checkpoint, const char *pattern, struct mt_modelled *change)
{
    bool is_reported = false, is_there = false;
    int rc = find_modules(checkpoint, pattern);
    change->why_not = rc == -ENOENT ? "no such module was called" : NULL;
    if (!rc)
        rc = mt_module_calls_find(&checkpoint->calls, checkpoint->edits->recording,
                                  &checkpoint->of_frame);
    if (!rc)
        rc = mt_call_lines_find(&checkpoint->lines, &checkpoint->calls,
                                checkpoint->edits->recording);
    for (size_t i = 0; !rc && i < checkpoint->calls.n; i++) {
        const struct mt_module_call *call = &checkpoint->calls.call[i];
        if (!call->backward && call->forward_end > checkpoint->edits->recording->events)
            continue; /* the trace ends in it */
        if (is_in_force(checkpoint->edits->recording, call)) {
            is_there = true;
            continue;
        }
        is_reported = true;
        if (is_left_alone(checkpoint, call))
            continue;
        recompute(checkpoint, call, change);
        hold_input(checkpoint, call);
    }
    if (!rc)
        recompute_added(checkpoint);
    if (!rc && !is_reported) {
        change->why_not =
            is_there ? "its calls are already checkpointed" : "no complete call of it was recorded";
        return -ENOENT;
    }
    return rc ? rc : checkpoint->edits->rc;
}

int mt_change_checkpoint(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    struct checkpoint checkpoint = {.edits = edits};
    if (!*argument)
        return -EINVAL;
    checkpoint.is_output = mt_outputs_of_nodes(edits->recording);
    int rc = checkpoint.is_output ? apply(&checkpoint, argument, change) : -ENOMEM;
    free(checkpoint.is_output);
    mt_by_id_clear(&checkpoint.of_frame);
    free(checkpoint.calls.call);
    mt_call_lines_clear(&checkpoint.lines);
    return rc;
}

/* A checkpoint around fewer layers is around each. */
#define LAYERS_LEAST 2u

/* A call of a layer under a checkpoint, as it runs again: its blocks, and the last of them that
 * outlives the recomputation, which the next layer saves. */
struct layer {
    uint32_t group;     /* of its modules; 0: of none that is numbered */
    size_t first, last; /* blocks */
    size_t output;      /* SIZE_MAX: none */
    uint64_t backward;  /* event of its own backward; MT_EVER: not recorded */
};

struct layers {
    struct layer *of;
    size_t n, capacity;
};

/* Return whether backward makes the block by running a checkpointed forward again. */
static bool is_again(const struct mt_recording *recording, const struct mt_recorded_block *block)
{
    return block->phase == MT_PHASE_BACKWARD && !block->made_in && !mt_is_of_model(block) &&
           mt_is_checkpointed(recording, block->stack);
}

static bool is_checkpointed_forward(const struct mt_recording *recording,
                                    const struct mt_recorded_block *block)
{
    return block->phase == MT_PHASE_FORWARD && !mt_is_of_model(block) &&
           mt_is_checkpointed(recording, block->stack);
}

static uint32_t layer_of(const struct mt_shard_groups *groups,
                         const struct mt_recorded_block *block)
{
    return block->maker ? *(uint32_t *)mt_by_id(&groups->of_frame, block->maker) : 0;
}

/* Return whether backward went on to another module between two events. */
static bool went_on(const struct mt_recording *recording, uint64_t from, uint64_t to)
{
    const struct mt_turn *turn = mt_turn_after(recording, from);
    return turn && turn < mt_turns_end(recording) && turn->event < to;
}

/* List the layers of the recomputation that begins with a block; *next: the block after it. */
static int list_layers(struct layers *layers, const struct mt_recording *recording,
                       const struct mt_shard_groups *groups, size_t begin, size_t *next)
{
    size_t before = begin;
    layers->n = 0;
    for (*next = begin; *next < recording->n; ++*next) {
        const struct mt_recorded_block *block = &recording->block[*next];
        if (!is_again(recording, block))
            continue;
        if (went_on(recording, recording->block[before].begin, block->begin))
            break;
        uint32_t group = layer_of(groups, block);
        if (!layers->n || layers->of[layers->n - 1].group != group) {
            struct layer one = {group, *next, *next, SIZE_MAX, MT_EVER};
            if (MT_APPEND(layers->of, layers->capacity, layers->n, one))
                return -ENOMEM;
        }
        layers->of[layers->n - 1].last = before = *next;
    }
    uint64_t end = recording->block[before].begin;
    for (size_t i = 0; i < layers->n; i++) {
        struct layer *layer = &layers->of[i];
        for (size_t j = layer->first; j <= layer->last; j++)
            if (is_again(recording, &recording->block[j]) && recording->block[j].end > end)
                layer->output = j;
    }
    return 0;
}

/* Find when the backward of each layer begins after a recomputation. Return whether any does. */
static bool find_backwards(struct layers *layers, const struct mt_recording *recording,
                           const struct mt_shard_groups *groups)
{
    uint64_t end = recording->block[layers->of[layers->n - 1].last].begin;
    const struct mt_turn *turn = mt_turn_after(recording, end);
    bool is_begun = false;
    for (; turn && turn < mt_turns_end(recording) && turn->phase == MT_PHASE_BACKWARD; turn++) {
        uint32_t group = turn->module ? *(uint32_t *)mt_by_id(&groups->of_frame, turn->module) : 0;
        for (size_t i = layers->n; group && i--;)
            if (layers->of[i].group == group && layers->of[i].backward == MT_EVER) {
                layers->of[i].backward = turn->event;
                is_begun = true;
                break;
            }
    }
    return is_begun;
}

/* Return the moment in forward from which a layer's output would be kept: when its own forward is
 * done with it. */
static uint64_t kept_from(const struct mt_edits *edits, const struct mt_shard_groups *groups,
                          uint32_t group, size_t before)
{
    const struct mt_recording *recording = edits->recording;
    for (size_t i = before; i--;) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (is_checkpointed_forward(recording, block) && layer_of(groups, block) == group)
            return edits->block[i].end;
    }
    return edits->block[before].begin;
}

/* Keep the outputs of layers that have not run again when memory runs out. */
static void keep_unseen(struct mt_edits *edits, const struct mt_shard_groups *groups,
                        const struct layers *layers)
{
    const struct mt_recording *recording = edits->recording;
    uint32_t newest = 0, group = 0;
    for (size_t i = layers->n; i-- && !newest;)
        newest = layers->of[i].group; /* that of the request that failed is not known */
    for (size_t i = layers->of[0].first; i--;) {
        const struct mt_recorded_block *block = &recording->block[i];
        uint32_t now = is_checkpointed_forward(recording, block) ? layer_of(groups, block) : 0;
        if (now == newest || block->phase == MT_PHASE_STEP)
            return;
        if (now && now != group)
            edits->block[i].end = MT_EVER;
        group = now ? now : group;
    }
}

static bool is_larger(const struct mt_edits *edits, const struct layer *one,
                      const struct layer *other)
{
    uint64_t bytes[2] = {0};
    const struct layer *of[] = {one, other};
    for (int k = 0; k < 2; k++)
        for (size_t i = of[k]->first; i <= of[k]->last; i++)
            bytes[k] +=
                is_again(edits->recording, &edits->recording->block[i]) ? edits->block[i].size : 0;
    return bytes[0] > bytes[1];
}

/* Let a layer run again as its own backward begins, or not at all by the trace's end. */
static void run_later(struct mt_edits *edits, const struct layer *layer, uint64_t end)
{
    const struct mt_recording *recording = edits->recording;
    uint64_t moment =
        layer->backward == MT_EVER ? MT_EVER : mt_moment_of(layer->backward) - MT_WITHIN + 1;
    for (size_t i = layer->first; i <= layer->last; i++) {
        if (!is_again(recording, &recording->block[i]) || i == layer->output)
            continue;
        if (moment == MT_EVER || recording->block[i].end <= end ||
            edits->block[i].end <= moment + (i - layer->first))
            mt_drop_block(edits, i);
        else
            edits->block[i].begin = moment + (i - layer->first);
    }
}

/* Give each layer of a recomputation a checkpoint of its own: their outputs are kept from forward
 * on, and what is between runs again layer by layer. */
static void part(struct mt_edits *edits, const struct mt_shard_groups *groups,
                 struct layers *layers)
{
    const struct mt_recording *recording = edits->recording;
    size_t first = layers->of[0].first, now = layers->n - 1;
    uint64_t end = recording->block[layers->of[now].last].begin;
    bool is_begun = find_backwards(layers, recording, groups);
    for (size_t i = 0; !is_begun && i + 1 < layers->n; i++)
        if (is_larger(edits, &layers->of[i], &layers->of[now]))
            now = i; /* memory ran out in the last one */
    if (!is_begun)
        keep_unseen(edits, groups, layers);
    for (size_t i = 0; i < layers->n; i++) {
        const struct layer *layer = &layers->of[i];
        bool is_last = i + 1 == layers->n;
        if (i != now)
            run_later(edits, layer, end);
        if (!is_last && layer->output != SIZE_MAX)
            edits->block[layer->output].begin = kept_from(edits, groups, layer->group, first);
        else if (i != now && layer->output != SIZE_MAX)
            mt_drop_block(edits, layer->output);
    }
}

int mt_change_checkpoint_each(struct mt_edits *edits, const char *argument,
                              struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    struct mt_shard_groups groups;
    struct layers layers = {0};
    bool is_found = false;
    (void)argument;
    int rc = mt_shard_groups_find(&groups, recording);
    for (size_t i = 0, next; !rc && i < recording->n; i = next) {
        next = i + 1;
        if (!is_again(recording, &recording->block[i]))
            continue;
        rc = list_layers(&layers, recording, &groups, i, &next);
        if (rc || layers.n < LAYERS_LEAST)
            continue;
        is_found = true;
        part(edits, &groups, &layers);
    }
    free(layers.of);
    mt_shard_groups_clear(&groups);
    if (!rc && !is_found)
        change->why_not = "no checkpoint is around several layers";
    return rc ? rc : is_found ? 0 : -ENOENT;
}
