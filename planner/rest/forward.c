/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a forward: layers equal to those before, and the loss of a language model. */
#include "analyzer/support/grow.h"
#include "analyzer/support/to-integer.h"
#include "inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t first_block(const struct mt_resting *resting, const struct mt_module_call *call)
{
    return mt_first_made(resting->recording, call->forward);
}

static size_t count_blocks(const struct mt_resting *resting, const struct mt_module_call *call)
{
    return mt_first_made(resting->recording, call->forward_end) - first_block(resting, call);
}

/* Return whether the first n blocks of two calls have the same sizes. */
static bool are_equal(const struct mt_resting *resting, const struct mt_module_call *one,
                      const struct mt_module_call *other, size_t n)
{
    const struct mt_recorded_block *a = resting->recording->block + first_block(resting, one),
                                   *b = resting->recording->block + first_block(resting, other);
    size_t i = 0;
    while (i < n && mt_requested_bytes(&a[i]) == mt_requested_bytes(&b[i]))
        i++;
    return i == n;
}

static uint32_t limit_of(const struct mt_resting *resting)
{
    return mt_definitions_frame_limit(resting->recording->definitions);
}

static const char *path_of(const struct mt_resting *resting, uint32_t group)
{
    uint32_t frame = 1, limit = limit_of(resting);
    while (frame < limit && mt_rest_group(resting, frame) != group)
        frame++;
    return frame < limit ? mt_recorded_module(resting->recording, frame) : "";
}

/* Return the length of "h." of "h.4.mlp". */
static size_t list_size(const char *path)
{
    size_t size = mt_layer_size(path);
    while (size && path[size - 1] != '.')
        size--;
    return size;
}

/* Count the layers of the list that have a name. */
static size_t count_named(const struct mt_resting *resting, uint32_t group)
{
    const char *path = path_of(resting, group);
    size_t size = list_size(path), n = 0;
    uint32_t limit = limit_of(resting);
    bool *is_counted = calloc(resting->groups.n + 1, sizeof *is_counted);
    for (uint32_t frame = 1; is_counted && size && frame < limit; frame++) {
        const char *other = mt_recorded_module(resting->recording, frame);
        uint32_t at = mt_rest_group(resting, frame);
        if (!at || is_counted[at] || list_size(other) != size || strncmp(other, path, size) != 0)
            continue;
        is_counted[at] = true;
        n++;
    }
    free(is_counted);
    return n;
}

static uint32_t group_of(const struct mt_resting *resting, const struct mt_recorded_block *block)
{
    return mt_rest_group(resting, block->module);
}

/* Count layers by their parameters' sizes: each layer has as many of a size. */
static size_t count_by_sizes(const struct mt_resting *resting, uint32_t group)
{
    const struct mt_recording *recording = resting->recording;
    size_t least = 0;
    for (size_t i = 0; i < recording->n; i++) {
        size_t own = 0, all = 0;
        if (recording->block[i].category != MT_CATEGORY_PARAMETERS ||
            group_of(resting, &recording->block[i]) != group)
            continue;
        for (size_t j = 0; j < recording->n && recording->block[j].begin < resting->rest->cut;
             j++) {
            const struct mt_recorded_block *other = &recording->block[j];
            if (other->category != MT_CATEGORY_PARAMETERS ||
                other->size != recording->block[i].size)
                continue;
            own += group_of(resting, other) == group;
            all++;
        }
        least = !least || all / own < least ? all / own : least;
    }
    return least;
}

int mt_rest_copy_turns(struct mt_resting *resting, uint64_t from, uint64_t to, uint64_t offset)
{
    struct mt_recording *recording = resting->recording;
    const struct mt_turn *first = mt_turn_after(recording, from - 1);
    size_t i = first ? (size_t)(first - recording->turn) : recording->n_turns;
    for (size_t n = recording->n_turns; i < n && recording->turn[i].event < to; i++) {
        struct mt_turn turn = recording->turn[i];
        turn.event += offset;
        if (MT_APPEND(recording->turn, recording->turns_capacity, recording->n_turns, turn))
            return -ENOMEM;
    }
    return 0;
}

static int copy_node(struct mt_recording *recording, size_t place, uint64_t from, uint64_t offset)
{
    struct mt_recorded_node node = recording->node[place];
    uint32_t first = node.first_save;
    node.made += offset;
    node.output += node.output >= from ? offset : 0;
    node.begin += node.begin ? offset : 0;
    node.end += node.end ? offset : 0;
    node.first_save = (uint32_t)recording->n_saves;
    for (uint32_t i = 0; i < node.n_saves; i++) {
        uint64_t save = recording->save[first + i];
        save += save >= from ? offset : 0;
        if (MT_APPEND(recording->save, recording->saves_capacity, recording->n_saves, save))
            return -ENOMEM;
    }
    return MT_APPEND(recording->node, recording->nodes_capacity, recording->n_nodes, node);
}

int mt_rest_copy_nodes(struct mt_resting *resting, uint64_t from, uint64_t to, uint64_t own,
                       uint64_t offset)
{
    struct mt_recording *recording = resting->recording;
    int rc = 0;
    for (size_t i = mt_first_node(recording, from), n = recording->n_nodes;
         !rc && i < n && recording->node[i].made < to; i++)
        rc = copy_node(recording, i, own, offset);
    return rc;
}

static struct mt_recorded_block moved(const struct mt_resting *resting,
                                      const struct mt_recorded_block *block, uint64_t offset)
{
    struct mt_recorded_block copy = *block;
    copy.begin += offset;
    copy.end = block->end > resting->rest->cut ? MT_EVER : block->end + offset;
    copy.saved += block->saved ? offset : 0;
    return copy;
}

/* Continue as the call did after its first `done` blocks. */
static int copy_call(struct mt_resting *resting, const struct mt_module_call *like, size_t done,
                     uint64_t offset)
{
    struct mt_recording *recording = resting->recording;
    size_t first = first_block(resting, like), n = count_blocks(resting, like), i = 0;
    uint64_t from = done ? recording->block[first + done - 1].begin + 1 : like->forward;
    int rc = mt_rest_copy_turns(resting, from, like->forward_end, offset);
    if (!rc)
        rc = mt_rest_copy_nodes(resting, from, like->forward_end, like->forward, offset);
    for (i = done; !rc && i < n; i++) {
        struct mt_recorded_block copy = moved(resting, &recording->block[first + i], offset);
        if (MT_APPEND(recording->block, recording->capacity, recording->n, copy))
            return -ENOMEM;
    }
    if (resting->now < like->forward_end + offset)
        resting->now = like->forward_end + offset;
    return rc;
}

/* Give the open call's blocks the lifetimes of the call that it matches. */
static void align(struct mt_resting *resting, const struct mt_module_call *open,
                  const struct mt_module_call *like, size_t done, uint64_t offset)
{
    struct mt_recorded_block *block = resting->recording->block;
    size_t mine = first_block(resting, open), its = first_block(resting, like);
    uint64_t cut = resting->rest->cut;
    for (size_t i = 0; i < done; i++) {
        struct mt_recorded_block *one = &block[mine + i];
        struct mt_recorded_block other = moved(resting, &block[its + i], offset);
        if (one->begin == cut) { /* the failed request, whose role is known now */
            other.begin = one->begin;
            other.size = one->size;
            *one = other;
        }
        if (one->end > cut)
            one->end = other.end > cut ? other.end : cut + 1;
    }
}

/* Align the calls, since a layer's blocks may be freed only after the next one's first operators.
 */
static void align_before(struct mt_resting *resting, const struct mt_module_call *before,
                         const struct mt_module_call *like, uint64_t offset)
{
    struct mt_recorded_block *block = resting->recording->block;
    size_t mine = first_block(resting, before), its = first_block(resting, like);
    uint64_t cut = resting->rest->cut;
    for (size_t i = 0, n = count_blocks(resting, before); i < n; i++) {
        uint64_t end = block[its + i].end;
        if (block[mine + i].end > cut && end <= cut)
            block[mine + i].end = end + offset > cut ? end + offset : cut + 1;
    }
}

static int add_call(struct mt_resting *resting, struct mt_module_call call)
{
    return MT_APPEND(resting->calls.call, resting->calls.capacity, resting->calls.n, call);
}

/* Add a separate call for each layer, with module 0 between them. */
static int add_layers(struct mt_resting *resting, struct mt_module_call like, size_t n)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = mt_rest_turn(resting, 0, MT_PHASE_FORWARD);
        uint64_t offset = ++resting->now - like.forward;
        struct mt_module_call call = {.group = like.group,
                                      .forward = like.forward + offset,
                                      .forward_end = like.forward_end + offset};
        if (!rc)
            rc = copy_call(resting, &like, 0, offset);
        if (!rc)
            rc = add_call(resting, call);
    }
    return rc;
}

static bool is_called(const struct mt_module_calls *calls, size_t from, uint32_t group)
{
    while (from < calls->n && calls->call[from].group != group)
        from++;
    return from < calls->n;
}

/* Return the first call of this iteration: from it on, no call had a backward or comes twice. */
static size_t first_call(const struct mt_module_calls *calls)
{
    size_t i = calls->n;
    while (i && !calls->call[i - 1].backward && !is_called(calls, i, calls->call[i - 1].group))
        i--;
    return i;
}

static bool is_of_list(const struct mt_resting *resting, uint32_t group, uint32_t other)
{
    const char *one = path_of(resting, group), *two = path_of(resting, other);
    size_t size = list_size(one);
    return size && size == list_size(two) && !strncmp(one, two, size);
}

/* Count the calls before `end` of the same list, in this iteration. */
static size_t count_called(const struct mt_resting *resting, size_t end, uint32_t group)
{
    size_t n = 0;
    for (size_t i = resting->first; i < end; i++)
        n += is_of_list(resting, group, resting->calls.call[i].group);
    return n;
}

/* Return what PyTorch's sum over the rows of the logits' gradient allocates, with a bias: each
 * block of 128 threads has 4 columns a thread, and as many blocks share a column as fill an H100
 * once, with at least 64 rows each. Below 1024 rows none do. */
static uint64_t bytes_of_sums(const struct mt_resting *resting, uint64_t rows, uint64_t columns)
{
    enum { THREADS = 128, ALL_BLOCKS = 132 * 16, ROWS_LEAST = 1024, ROWS_OF_BLOCK = 64 };
    const struct mt_recording *recording = resting->recording;
    bool has_bias = false;
    for (size_t i = 0; i < recording->n; i++)
        has_bias |= recording->block[i].category == MT_CATEGORY_PARAMETERS &&
                    mt_recorded_elements(&recording->block[i]) == columns;
    uint64_t across = (columns + THREADS - 1) / THREADS;
    uint64_t blocks = across ? (ALL_BLOCKS + across - 1) / across : 0;
    blocks = blocks < rows / ROWS_OF_BLOCK ? blocks : rows / ROWS_OF_BLOCK;
    blocks = blocks > rows / ROWS_LEAST ? blocks : rows / ROWS_LEAST;
    return has_bias && rows >= ROWS_LEAST && blocks > 1 ? 4 * columns * blocks * THREADS : 0;
}

static void find_logits(struct mt_resting *resting, const struct mt_module_call *like)
{
    struct mt_head head;
    const struct mt_recorded_block *output =
        mt_recorded_at(resting->recording, mt_call_output(resting->recording, like));
    if (!output || !mt_head_find(&head, resting->recording, &resting->groups, like->group))
        return;
    resting->head = head.parameter;
    resting->logits =
        mt_block_of(mt_to_uint64((double)output->size / (double)head.width * (double)head.columns));
    resting->sums = bytes_of_sums(resting, mt_recorded_elements(output) / head.width, head.columns);
}

/* Count the largest blocks after the last layer. */
static void count_logits(struct mt_resting *resting, uint64_t from)
{
    struct mt_recording *recording = resting->recording;
    for (size_t i = mt_first_made(recording, from); i < recording->n; i++) {
        uint64_t size = recording->block[i].size;
        if (!resting->logits || recording->block[i].begin > resting->rest->cut ||
            size + size / 64 < resting->logits || size > resting->logits + resting->logits / 64)
            continue;
        if (++resting->n_logits == 2) /* of what is computed from them */
            recording->block[i].saved = resting->now;
    }
}

static int add_loss(struct mt_resting *resting)
{
    if (!resting->logits || mt_rest_turn(resting, 0, MT_PHASE_FORWARD))
        return resting->logits ? -ENOMEM : 0;
    for (size_t i = resting->n_logits; i < 2; i++) {
        size_t block =
            mt_rest_make_of(resting, resting->logits, MT_CATEGORY_ACTIVATIONS, MT_PHASE_FORWARD);
        if (block == SIZE_MAX)
            return -ENOMEM;
        resting->recording->block[block].saved = i ? resting->now : 0;
    }
    return 0;
}

/* Return what a checkpointed layer allocates again: only its input is saved. */
static uint64_t made_again(const struct mt_resting *resting, const struct mt_module_call *like)
{
    const struct mt_recording *recording = resting->recording;
    uint64_t bytes = 0;
    bool is_under = false;
    for (size_t i = first_block(resting, like), n = count_blocks(resting, like); n; i++, n--) {
        is_under |= mt_is_checkpointed(recording, recording->block[i].stack);
        bytes += recording->block[i].size;
    }
    return is_under ? bytes : 0;
}

/* Return the newest complete call that an equal one follows, or else the newest complete one. */
static int like_of(const struct mt_resting *resting, size_t end, uint32_t group, size_t found[2])
{
    size_t n = 0;
    for (size_t i = end; i > resting->first && n < 2; i--)
        if (is_of_list(resting, group, resting->calls.call[i - 1].group))
            found[n++] = i - 1;
    const struct mt_module_call *call = resting->calls.call;
    if (!n)
        return -ENOENT;
    if (n == 2 &&
        (count_blocks(resting, &call[found[0]]) != count_blocks(resting, &call[found[1]]) ||
         !are_equal(resting, &call[found[0]], &call[found[1]],
                    count_blocks(resting, &call[found[0]]))))
        return -ENOENT;
    found[1] = n == 2 ? found[1] : found[0];
    return 0;
}

int mt_rest_forward(struct mt_resting *resting)
{
    struct mt_module_calls *calls = &resting->calls;
    struct mt_rest *rest = resting->rest;
    resting->first = first_call(calls);
    if (calls->n == resting->first)
        return -ENOENT;
    struct mt_module_call last = calls->call[calls->n - 1];
    bool is_open = last.forward_end > rest->cut;
    size_t end = calls->n - is_open, found[2], done = is_open ? count_blocks(resting, &last) : 0;
    int rc = like_of(resting, end, last.group, found);
    if (rc)
        return rc;
    struct mt_module_call before = calls->call[found[0]], like = calls->call[found[1]];
    bool is_of_library = !mt_recorded_at(resting->recording, rest->cut);
    if (is_open && (!done || done > count_blocks(resting, &like) ||
                    !are_equal(resting, &last, &like, done - !is_of_library)))
        return -ENOENT;
    size_t named = count_named(resting, last.group), sized = count_by_sizes(resting, like.group);
    rest->layers = named > sized ? named : sized;
    rest->seen = count_called(resting, end, last.group);
    resting->like = like.group;
    resting->again = made_again(resting, &like);
    find_logits(resting, &like);
    if (is_open) {
        uint64_t offset =
            rest->cut - resting->recording->block[first_block(resting, &like) + done - 1].begin;
        align(resting, &last, &like, done, offset);
        if (found[0] != found[1])
            align_before(resting, &before, &like, last.forward - before.forward);
        rc = copy_call(resting, &like, done, offset);
        calls->call[calls->n - 1].forward_end = ++resting->now;
    } else {
        count_logits(resting, last.forward_end);
    }
    size_t known = rest->seen + is_open, more = rest->layers > known ? rest->layers - known : 0;
    if (!rc && !resting->n_logits)
        rc = add_layers(resting, like, more);
    return rc ? rc : add_loss(resting);
}
