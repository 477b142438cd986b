/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sharding over ranks. Stage 1 distributes the optimizer's state by parameters, as
 * ZeroRedundancyOptimizer does. Stages 2 and 3 shard parameters, gradients and state as FSDP2 does,
 * each layer separately and the rest of the model together; a layer's parameters are gathered while
 * it runs (3), or from its forward to its backward (2).
 */
#include "analyzer/support/search.h"
#include "kinds.h"
#include "planner/allocator/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

MT_ORDER(larger_first, uint64_t, MT_COMPARE(*b, *a))

/* Return the largest share of a rank if whole parameters, the largest first, always go to the rank
 * with the least so far. 0: no memory. */
static double largest_share(const struct mt_recording *recording, uint64_t ranks)
{
    uint64_t *size = calloc(recording->n + 1, sizeof *size), *has = calloc(ranks, sizeof *has);
    uint64_t whole = 0, most = 0;
    size_t n = 0;
    for (size_t i = 0; size && has && i < recording->n; i++)
        if (mt_is_trained(&recording->block[i]) && mt_is_kept(recording, &recording->block[i]))
            size[n++] = mt_recorded_elements(&recording->block[i]);
    if (n)
        qsort(size, n, sizeof *size, larger_first);
    for (size_t i = 0; i < n; i++) {
        uint64_t least = 0;
        for (uint64_t rank = 1; rank < ranks; rank++)
            least = has[rank] < has[least] ? rank : least;
        has[least] += size[i];
        whole += size[i];
        most = has[least] > most ? has[least] : most;
    }
    bool failed = !size || !has;
    free(size);
    free(has);
    return failed ? 0 : whole ? (double)most / (double)whole : 1;
}

static bool is_of_optimizer(const struct mt_recorded_block *block)
{
    return block->category == MT_CATEGORY_OPTIMIZER_STATE ||
           (block->step && block->category == MT_CATEGORY_TEMPORARIES);
}

static bool is_added_state(const struct mt_edit *edit)
{
    return edit->as == MT_ADDED_STATE || edit->as == MT_ADDED_STEP;
}

#define RANKS_MOST 65536u

static bool has_buckets(const struct mt_recording *recording)
{
    for (size_t i = 0; i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_COMMUNICATION)
            return true;
    return false;
}

/* Add the buckets of a program that does not use DDP yet: as large as all gradients, from the first
 * forward on. */
static void add_buckets(struct mt_edits *edits)
{
    const struct mt_recording *recording = edits->recording;
    size_t n = recording->n, first = 0;
    while (first < recording->n_turns && recording->turn[first].phase != MT_PHASE_FORWARD)
        first++;
    if (first == recording->n_turns)
        return;
    for (size_t i = 0; i < n; i++)
        if (mt_is_trained(&recording->block[i]) && mt_is_kept(recording, &recording->block[i]))
            mt_edits_add(edits, mt_moment_of(recording->turn[first].event), MT_EVER,
                         edits->block[i].size);
}

int mt_change_zero1(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    uint64_t ranks = mt_change_number(argument);
    if (!ranks || ranks > RANKS_MOST)
        return -EINVAL;
    change->why_not = edits->recording->n_steps ? NULL : "no optimizer step was recorded";
    if (change->why_not)
        return -ENOENT;
    double share = largest_share(edits->recording, ranks);
    if (share <= 0)
        return -ENOMEM;
    for (size_t i = 0; i < edits->n; i++) {
        struct mt_edit *edit = &edits->block[i];
        bool is_state = i < edits->recording->n ? is_of_optimizer(&edits->recording->block[i])
                                                : is_added_state(edit);
        if (is_state && edit->size > 4096)
            edit->size = mt_scaled(edit->size, share);
    }
    if (ranks > 1 && !has_buckets(edits->recording))
        add_buckets(edits);
    return edits->rc;
}

/* Return whether DDP made it for its buckets, and not FSDP for what it gathers. */
static bool is_bucket(const struct mt_recording *recording, const struct mt_recorded_block *block)
{
    const struct mt_definitions *d = recording->definitions;
    bool is_found = false;
    for (uint32_t stack = block->stack; !is_found && stack && mt_stack(d, stack)->depth;
         stack = mt_stack(d, stack)->parent)
        is_found = mt_stack_frame(d, stack)->marks & MT_MARK_BUCKETS;
    return is_found;
}

/* Let gradients be views of DDP's buckets: what backward makes of one is gone once it is copied. */
int mt_change_bucket_views(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    uint64_t buckets = 0, gradients = 0;
    bool is_view = false;
    (void)argument;
    for (size_t i = 0; i < recording->n && !is_view; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        bool is_gradient = block->category == MT_CATEGORY_GRADIENTS;
        bool is_of_ddp = (is_gradient || block->category == MT_CATEGORY_COMMUNICATION) &&
                         is_bucket(recording, block);
        buckets += is_of_ddp ? block->size : 0;
        is_view = is_of_ddp && is_gradient;
        if (!buckets || !is_gradient || block->is_addend)
            continue;
        gradients += block->size;
        edits->block[i].end = mt_moment_of(block->begin) + 2;
    }
    if (!gradients || is_view)
        change->why_not =
            buckets ? "gradients are already views of DDP's buckets" : "DDP made no buckets";
    return change->why_not ? -ENOENT : 0;
}

/* FSDP2, or its offloading. */
struct sharding {
    struct mt_edits *edits;
    struct mt_shard_groups groups;
    struct mt_module_calls calls;
    const struct mt_module_call **backwards; /* nodes that have one, in order */
    size_t n_backwards;
    uint64_t *bytes; /* bytes of parameters by group */
    uint64_t ranks;
    bool keeps;    /* parameters stay gathered until backward */
    bool offloads; /* shards are in host memory */
};

static uint32_t group_of(const struct sharding *sharding, const struct mt_recorded_block *block)
{
    return mt_shard_group(&sharding->groups, block->module);
}

static uint64_t part(const struct sharding *sharding, uint64_t bytes)
{
    return mt_block_of((bytes + sharding->ranks - 1) / sharding->ranks);
}

/* Return the last node in the order of backward that had begun by then. */
static size_t begun_by(const struct sharding *sharding, uint64_t event)
{
    return MT_LEADING(i, sharding->n_backwards, sharding->backwards[i]->backward <= event);
}

/* There are only few interrupted calls. */
#define INTERRUPTED 64u

/* Return when backward combines a group's gradients: after its last node. */
static uint64_t gradients_at(const struct sharding *sharding, uint32_t group, uint64_t begin)
{
    const struct mt_recording *recording = sharding->edits->recording;
    size_t last = group ? begun_by(sharding, begin) : 0;
    for (size_t i = last; i && last - i < INTERRUPTED; i--) {
        const struct mt_module_call *call = sharding->backwards[i - 1];
        if (call->group == group && begin <= call->backward_end)
            return call->backward_end;
    }
    const struct mt_turn *turn = mt_turn_after(recording, begin);
    for (; turn && turn < mt_turns_end(recording); turn++)
        if (turn->phase != MT_PHASE_BACKWARD)
            return turn->event;
    return recording->events + 1;
}

/* Shard a gradient. It is whole until its group's gradients are scattered from a copy. */
static void shard_gradient(const struct sharding *sharding, size_t i,
                           struct mt_address_map *scattered)
{
    const struct mt_recorded_block *block = &sharding->edits->recording->block[i];
    struct mt_edit *edit = &sharding->edits->block[i];
    uint64_t at = mt_moment_of(gradients_at(sharding, group_of(sharding, block), block->begin));
    if (mt_address_map_put(scattered, block->size, (uint32_t)i + 1))
        sharding->edits->rc = -ENOMEM;
    if (at >= edit->end)
        return;
    if (!sharding->offloads)
        mt_edits_add(sharding->edits, at + 1, edit->end,
                     part(sharding, sharding->edits->block[i].size));
    sharding->edits->block[i].end = at + 1;
}

/* Scatter a gradient before it is added to one of its size that is already sharded. */
static void shard_addend(const struct sharding *sharding, size_t i,
                         const struct mt_address_map *scattered)
{
    const struct mt_recorded_block *block = &sharding->edits->recording->block[i];
    uint32_t last = mt_address_map_get(scattered, block->size);
    if (!block->is_addend || !last ||
        sharding->edits->recording->block[last - 1].end < block->begin ||
        sharding->edits->block[last - 1].end > mt_moment_of(block->begin))
        return;
    uint64_t at = mt_moment_of(gradients_at(sharding, group_of(sharding, block), block->begin)) + 1;
    if (at > sharding->edits->block[i].end)
        sharding->edits->block[i].end = at;
}

static void shard_state(const struct sharding *sharding, struct mt_edit *edit)
{
    if (sharding->offloads)
        edit->size = 0;
    else if (edit->size > 4096)
        edit->size = part(sharding, edit->size);
}

static void shard_blocks(const struct sharding *sharding)
{
    const struct mt_recording *recording = sharding->edits->recording;
    struct mt_address_map scattered = {0}; /* the last gradient by size */
    for (size_t i = recording->n; i < sharding->edits->n; i++)
        if (is_added_state(&sharding->edits->block[i]))
            shard_state(sharding, &sharding->edits->block[i]);
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        struct mt_edit *edit = &sharding->edits->block[i];
        if (mt_is_trained(block)) {
            sharding->bytes[group_of(sharding, block)] += mt_edited_bytes(sharding->edits, block);
            edit->size = sharding->offloads ? 0 : part(sharding, edit->size);
        } else if (block->category == MT_CATEGORY_GRADIENTS)
            shard_gradient(sharding, i, &scattered);
        else if (is_of_optimizer(block))
            shard_state(sharding, edit);
        else
            shard_addend(sharding, i, &scattered);
    }
    mt_address_map_clear(&scattered);
}

/* Gather a group's parameters through a buffer, which is freed once they are copied; in forward,
 * once the next group's are. */
static void gather(const struct sharding *sharding, uint32_t group, uint64_t from, uint64_t copied,
                   uint64_t freed, uint64_t to)
{
    uint64_t bytes = sharding->bytes[group];
    mt_edits_add(sharding->edits, copied, to, bytes);
    mt_edits_add(sharding->edits, from, freed, sharding->ranks > 1 ? bytes : 0);
}

/* Return the next call in forward, or the call whose backward comes next; NULL: none in this
 * iteration. */
static const struct mt_module_call *next_forward(const struct sharding *sharding, size_t i)
{
    const struct mt_module_call *call = &sharding->calls.call[i];
    bool is_next =
        i + 1 < sharding->calls.n && (!call->backward || call[1].forward < call->backward);
    return is_next ? &call[1] : NULL;
}

static const struct mt_module_call *next_backward(const struct sharding *sharding, size_t i)
{
    const struct mt_module_call *call = &sharding->calls.call[i];
    return i && call[-1].backward > call->backward ? &call[-1] : NULL;
}

static const struct mt_module_call *last_backward(const struct sharding *sharding, size_t i)
{
    const struct mt_module_call *call = &sharding->calls.call[i];
    return i + 1 < sharding->calls.n && call[1].backward && call[1].backward < call->backward
               ? &call[1]
               : NULL;
}

static void shard_call(const struct sharding *sharding, size_t i)
{
    const struct mt_module_call *call = &sharding->calls.call[i];
    const struct mt_module_call *next = next_forward(sharding, i),
                                *before = next_backward(sharding, i);
    const struct mt_module_call *after = last_backward(sharding, i);
    uint64_t forward = mt_moment_of(call->forward) - MT_WITHIN / 2;
    uint64_t freed =
        next ? mt_moment_of(next->forward) - MT_WITHIN / 2 + 2 : mt_moment_of(call->forward_end);
    uint64_t end = mt_moment_of(call->backward_end);
    bool stays = sharding->keeps && call->backward;
    gather(sharding, call->group, forward, forward + 2, freed,
           stays ? end : mt_moment_of(call->forward_end));
    if (!call->backward)
        return;
    uint64_t backward = mt_moment_of(call->backward) - MT_WITHIN / 2;
    if (!sharding->keeps)
        gather(sharding, call->group,
               after ? mt_moment_of(after->backward) - MT_WITHIN / 2 + 3 : backward, backward + 2,
               backward + 2, end);
    /* The copy of a group's gradients lives until the next group's is allocated. */
    mt_edits_add(sharding->edits, end,
                 before ? mt_moment_of(before->backward_end) : end + MT_WITHIN,
                 sharding->ranks > 1 || !sharding->offloads ? sharding->bytes[call->group] : 0);
}

/* Gather the rest of the model from the first line of forward to the last of backward. */
static void shard_rest(const struct sharding *sharding)
{
    const struct mt_recording *recording = sharding->edits->recording;
    uint64_t from = 0;
    bool went_back = false;
    for (size_t i = 0; i <= recording->n_turns; i++) {
        const struct mt_turn *turn = i < recording->n_turns ? &recording->turn[i] : NULL;
        bool is_of_model = turn && turn->phase == MT_PHASE_FORWARD;
        went_back |= from && turn && turn->phase == MT_PHASE_BACKWARD;
        if (!from && is_of_model)
            from = turn->event;
        else if (from && went_back && (!turn || turn->phase != MT_PHASE_BACKWARD)) {
            uint64_t begin = mt_moment_of(from) - MT_WITHIN + 1,
                     end = mt_moment_of(turn ? turn->event : recording->events + 1);
            gather(sharding, 0, begin, begin + 1, begin + MT_WITHIN / 2 + 2, end);
            mt_edits_add(sharding->edits, end, end + 2,
                         sharding->ranks > 1 ? sharding->bytes[0] : 0);
            from = is_of_model ? turn->event : 0;
            went_back = false;
        }
    }
}

MT_ORDER_OF_POINTERS(by_backward, struct mt_module_call, MT_RISING(backward))

static int order_backwards(struct sharding *sharding)
{
    sharding->backwards = calloc(sharding->calls.n + 1, sizeof *sharding->backwards);
    if (!sharding->backwards)
        return -ENOMEM;
    for (size_t i = 0; i < sharding->calls.n; i++)
        if (sharding->calls.call[i].backward)
            sharding->backwards[sharding->n_backwards++] = &sharding->calls.call[i];
    qsort(sharding->backwards, sharding->n_backwards, sizeof(void *), by_backward);
    return 0;
}

static int shard(struct sharding *sharding)
{
    const struct mt_recording *recording = sharding->edits->recording;
    int rc = mt_shard_groups_find(&sharding->groups, recording);
    sharding->bytes = rc ? NULL : calloc(sharding->groups.n, sizeof *sharding->bytes);
    if (!rc)
        rc = sharding->bytes
                 ? mt_module_calls_find(&sharding->calls, recording, &sharding->groups.of_frame)
                 : -ENOMEM;
    if (!rc)
        rc = order_backwards(sharding);
    if (!rc) {
        shard_blocks(sharding);
        for (size_t i = 0; i < sharding->calls.n; i++)
            shard_call(sharding, i);
        shard_rest(sharding);
        sharding->edits->others = recording->streams < MT_STREAMS ? MT_STREAMS_BYTES : 0;
    }
    mt_shard_groups_clear(&sharding->groups);
    free(sharding->backwards);
    free(sharding->calls.call);
    free(sharding->bytes);
    return rc ? rc : sharding->edits->rc;
}

#define NO_PARAMETERS "no trained parameters were seen"

static bool has_trained(const struct mt_recording *recording)
{
    size_t i = 0;
    while (i < recording->n && !mt_is_trained(&recording->block[i]))
        i++;
    return i < recording->n;
}

static int by_stage(struct mt_edits *edits, const char *argument, struct mt_modelled *change,
                    bool keeps)
{
    struct sharding sharding = {
        .edits = edits, .ranks = mt_change_number(argument), .keeps = keeps};
    if (!sharding.ranks || sharding.ranks > RANKS_MOST)
        return -EINVAL;
    change->why_not = has_trained(edits->recording) ? NULL : NO_PARAMETERS;
    return change->why_not ? -ENOENT : shard(&sharding);
}

int mt_change_zero2(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return by_stage(edits, argument, change, true);
}

int mt_change_zero3(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return by_stage(edits, argument, change, false);
}

int mt_offload_parameters(struct mt_edits *edits, struct mt_modelled *change)
{
    change->why_not = has_trained(edits->recording) ? NULL : NO_PARAMETERS;
    if (change->why_not)
        return -ENOENT;
    edits->guesses |= MT_GUESS_STREAMS;
    return shard(&(struct sharding){.edits = edits, .ranks = 1, .offloads = true});
}
