/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.utils.checkpoint around modules: what they save in forward ends there, and is made again
 * when their backward begins.
 */
#include "analyzer/support/search.h"
#include "kinds.h"

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
};

static int find_modules(struct checkpoint *checkpoint, const char *pattern)
{
    size_t n;
    int rc =
        mt_modules_number(&checkpoint->of_frame, checkpoint->edits->recording, match, pattern, &n);
    return rc ? rc : n ? 0 : -ENOENT;
}

size_t mt_first_node(const struct mt_recording *recording, uint64_t event)
{
    return MT_LEADING(i, recording->n_nodes, recording->node[i].made < event);
}

/* Return the output that was made last: what a call returns is not its own to give up. */
uint64_t mt_call_output(const struct mt_recording *recording, const struct mt_module_call *call)
{
    size_t low = mt_first_node(recording, call->forward_end);
    for (; low && recording->node[low - 1].made >= call->forward; low--)
        if (recording->node[low - 1].output)
            return recording->node[low - 1].output;
    return 0;
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
            continue; /* it is not made again: nobody saved anything after it */
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
static void hold_input(struct mt_edits *edits, const struct mt_module_call *call)
{
    const struct mt_recording *recording = edits->recording;
    size_t first = mt_first_made(recording, call->forward);
    for (size_t i = first; call->backward && i && first - i < LOOK_BACK; i--) {
        const struct mt_recorded_block *block = &recording->block[i - 1];
        struct mt_edit *edit = &edits->block[i - 1];
        if (!block->output_of || block->phase != MT_PHASE_FORWARD ||
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
        hold_input(checkpoint->edits, call);
    }
    if (!rc)
        recompute_added(checkpoint);
    if (!rc && !is_reported) {
        change->why_not =
            is_there ? "its calls are checkpointed already" : "no whole call of it was recorded";
        return -ENOENT;
    }
    return rc ? rc : checkpoint->edits->rc;
}

int mt_change_checkpoint(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    struct checkpoint checkpoint = {.edits = edits};
    if (!*argument)
        return -EINVAL;
    int rc = apply(&checkpoint, argument, change);
    mt_by_id_clear(&checkpoint.of_frame);
    free(checkpoint.calls.call);
    mt_call_lines_clear(&checkpoint.lines);
    return rc;
}
