/* SPDX-License-Identifier: Apache-2.0 */
/* The head and the loss of a language model in parts of the tokens, each under
 * torch.utils.checkpoint: no more than one part's logits are ever there. */
#include "analyzer/support/search.h"
#include "kinds.h"

#include <errno.h>
#include <stdlib.h>

struct parts {
    struct mt_edits *edits;
    struct mt_shard_groups groups;
    struct mt_module_calls calls; /* of layers */
    struct mt_call_lines lines;
    struct mt_head head;
    uint32_t group; /* the layer that the head was sought for; 0: none yet */
    bool has_head;
    uint64_t n;
};

/* Logits of one forward, and of its backward before that comes to the layers. */
struct pass {
    uint64_t begin, end;  /* events: the last layer is done; its backward begins */
    uint64_t rows;        /* bytes that the last layer returns */
    uint64_t elements;    /* of the logits */
    uint64_t made_again;  /* blocks */
    bool is_there;        /* there are logits */
    uint64_t first, last; /* events: of the backward's blocks of logits; 0: none */
};

/* Find the head behind a layer. Forwards end with the same layer, and the search goes through all
 * blocks for each parameter. */
static bool find_head(struct parts *parts, uint32_t group)
{
    if (parts->group != group)
        parts->has_head =
            mt_head_find(&parts->head, parts->edits->recording, &parts->groups, group);
    parts->group = group;
    return parts->has_head;
}

/* Find what follows the call, the last one of a forward's. False: it is not the last, nothing
 * trains on it, or there is no head. */
static bool find_pass(struct pass *pass, struct parts *parts, size_t at)
{
    const struct mt_recording *recording = parts->edits->recording;
    const struct mt_module_call *call = &parts->calls.call[at],
                                *next = at + 1 < parts->calls.n ? call + 1 : NULL;
    bool is_last = !next || (call->backward && next->forward > call->backward);
    bool may_train =
        call->backward || (!next && !mt_call_evaluates(&parts->lines, recording, call) &&
                           call->forward_end <= recording->events);
    const struct mt_recorded_block *output =
        is_last && may_train ? mt_recorded_at(recording, mt_call_output(recording, call)) : NULL;
    if (!output || !find_head(parts, call->group))
        return false;
    *pass = (struct pass){.begin = call->forward_end,
                          .end = call->backward ? call->backward : recording->events,
                          .rows = parts->edits->block[output - recording->block].size};
    pass->elements =
        output->size / mt_recorded_width(output) / parts->head.width * parts->head.columns;
    return true;
}

static bool is_about(uint64_t bytes, uint64_t other)
{
    return bytes <= other + other / 64 && bytes + bytes / 64 >= other;
}

/* Return whether it is as large as the logits, or as those that predict a token: all but the first
 * of each sequence. If its type is not known, it may have 16 or 32 bits. */
static bool is_of_logits(const struct pass *pass, const struct mt_recorded_block *block)
{
    uint64_t bytes = mt_requested_bytes(block);
    return !mt_is_of_model(block) &&
           (block->dtype
                ? is_about(bytes, pass->elements * mt_recorded_width(block))
                : is_about(bytes, pass->elements * 2) || is_about(bytes, pass->elements * 4));
}

static void part(struct pass *pass, const struct parts *parts, size_t at)
{
    const struct mt_recorded_block *block = &parts->edits->recording->block[at];
    struct mt_edit *edit = &parts->edits->block[at];
    pass->is_there |= edit->size != 0;
    edit->size = mt_block_of(edit->size / parts->n);
    pass->made_again += block->phase != MT_PHASE_BACKWARD;
    if (block->phase != MT_PHASE_BACKWARD)
        return;
    pass->first = pass->first ? pass->first : block->begin;
    pass->last = block->end > pass->last && block->end != MT_EVER ? block->end : pass->last;
}

/* Each part makes a gradient for the head, which is added to that of the parts before it: the sum
 * is there from the first part on. The gradient of the rows is there in parts, and then as a whole.
 */
static void add_gradients(const struct pass *pass, const struct parts *parts)
{
    struct mt_edits *edits = parts->edits;
    const struct mt_recording *recording = edits->recording;
    const struct mt_recorded_block *head = &recording->block[parts->head.parameter];
    uint64_t begin = mt_moment_of(pass->first), end = mt_moment_of(pass->last), own = begin;
    for (size_t i = mt_first_made(recording, pass->first);
         i < recording->n && recording->block[i].begin <= pass->last; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_gradient = block->category == MT_CATEGORY_GRADIENTS || block->is_addend;
        if (!is_gradient || mt_recorded_elements(block) != mt_recorded_elements(head))
            continue;
        own = mt_moment_of(block->begin);
        edits->block[i].begin = begin;
    }
    mt_edits_add(edits, own, own < end ? end : own + 1, mt_edited_bytes(edits, head));
    mt_edits_add(edits, begin, end, pass->rows);
}

/* Return whether there are logits of that forward. */
static bool divide(struct pass *pass, const struct parts *parts, struct mt_modelled *change)
{
    const struct mt_recording *recording = parts->edits->recording;
    size_t at = mt_first_made(recording, pass->begin);
    for (; at < recording->n && recording->block[at].begin < pass->end; at++)
        if (is_of_logits(pass, &recording->block[at]))
            part(pass, parts, at);
    if (pass->first && pass->last > pass->first)
        add_gradients(pass, parts);
    change->operators += pass->made_again;
    return pass->is_there;
}

static int apply(struct parts *parts, struct mt_modelled *change)
{
    const struct mt_recording *recording = parts->edits->recording;
    bool is_there = false;
    int rc = mt_shard_groups_find(&parts->groups, recording);
    if (!rc)
        rc = mt_module_calls_find(&parts->calls, recording, &parts->groups.of_frame);
    if (!rc)
        rc = mt_call_lines_find(&parts->lines, &parts->calls, recording);
    if (rc)
        return rc;
    for (size_t i = 0; i < parts->calls.n; i++) {
        struct pass pass;
        if (find_pass(&pass, parts, i))
            is_there |= divide(&pass, parts, change);
    }
    change->why_not = is_there ? NULL : "no logits of a language model were seen";
    return is_there ? parts->edits->rc : -ENOENT;
}

int mt_change_chunked_loss(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    struct parts parts = {.edits = edits, .n = mt_change_number(argument)};
    if (parts.n < 2)
        return -EINVAL;
    int rc = apply(&parts, change);
    mt_shard_groups_clear(&parts.groups);
    free(parts.calls.call);
    mt_call_lines_clear(&parts.lines);
    return rc;
}
