/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "analyzer/support/to-integer.h"
#include "kinds.h"

#include <string.h>

bool *mt_outputs_of_nodes(const struct mt_recording *recording)
{
    bool *is_output = calloc(recording->n + 1, sizeof *is_output);
    for (size_t i = 0; is_output && i < recording->n; i++)
        is_output[i] = recording->block[i].output_of != 0;
    for (size_t i = 0; is_output && i < recording->n_nodes; i++) {
        const struct mt_recorded_block *output =
            mt_recorded_at(recording, recording->node[i].output);
        if (output)
            is_output[output - recording->block] = true;
    }
    return is_output;
}

bool *mt_made_in_forward(const struct mt_recording *recording)
{
    bool *is_made = calloc(recording->n + 1, sizeof *is_made);
    bool *is_output = mt_outputs_of_nodes(recording);
    if (!is_output) {
        free(is_made);
        return NULL;
    }
    for (size_t i = 0; is_made && i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
        for (uint32_t j = 0; output && j < node->n_saves; j++) {
            const struct mt_recorded_block *saved = mt_node_save(recording, node, j);
            if (saved && !is_output[saved - recording->block] && saved->phase == MT_PHASE_FORWARD &&
                saved->maker && saved->category == MT_CATEGORY_ACTIVATIONS &&
                saved->stack != output->stack)
                is_made[saved - recording->block] = true;
        }
    }
    free(is_output);
    return is_made;
}

/* Return the size of the gradient of a product's input. AddmmBackward allocates it before the
 * weight's gradient, MmBackward after; it is the only one if the weight is frozen. The weight's
 * gradient is smaller than the weight if that is a slice. 0: unknown. */
static uint64_t factor_gradient(const struct mt_recording *recording,
                                const struct mt_recorded_node *node, const char *name,
                                uint64_t weight)
{
    uint64_t made[2] = {0};
    for (size_t i = mt_first_made(recording, node->begin), n = 0;
         n < 2 && i < recording->n && recording->block[i].begin < node->end; i++)
        if (recording->block[i].category != MT_CATEGORY_WORKSPACE)
            made[n++] = mt_requested_bytes(&recording->block[i]);
    size_t at = made[1] && strstr(name, "11MmBackward");
    if (made[0] == weight || made[1] == weight)
        at = made[0] == weight;
    return made[at];
}

uint64_t mt_saved_bytes(const struct mt_edits *edits, const struct mt_recorded_node *node,
                        const struct mt_recorded_block *block)
{
    const struct mt_recording *recording = edits->recording;
    const char *name = node->name ? mt_string(recording->definitions, node->name) : "";
    uint64_t now = edits->block[block - recording->block].size, weight = 0;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *saved = mt_node_saved(recording, node, i);
        if (saved && saved->category == MT_CATEGORY_PARAMETERS)
            weight = mt_requested_bytes(saved);
    }
    if (!weight || !node->end || block->category == MT_CATEGORY_PARAMETERS ||
        (!strstr(name, "AddmmBackward") && !strstr(name, "11MmBackward")))
        return now;
    uint64_t gradient = factor_gradient(recording, node, name, weight);
    uint64_t requests = mt_requested_bytes(block);
    return gradient && gradient < requests
               ? mt_to_uint64((double)now * (double)gradient / (double)requests)
               : now;
}

uint64_t mt_sum_begins(const struct mt_recording *recording, const struct mt_recorded_node *node)
{
    const struct mt_recorded_block *last = NULL, *before = NULL;
    for (size_t i = mt_first_made(recording, node->begin);
         i < recording->n && recording->block[i].begin < node->end; i++)
        if (recording->block[i].end > node->end) {
            before = last;
            last = &recording->block[i];
        }
    bool is_linear =
        node->name && strstr(mt_string(recording->definitions, node->name), "AddmmBackward");
    return is_linear && before && last->size <= before->size / 8 ? last->begin : MT_EVER;
}

size_t mt_layer_size(const char *path)
{
    for (const char *part = path; *part;) {
        size_t size = strcspn(part, "."), digits = strspn(part, "0123456789");
        if (size && digits == size)
            return (size_t)(part - path) + size;
        part += size + (part[size] == '.');
    }
    return 0;
}

int mt_modules_number(struct mt_by_id *of_frame, const struct mt_recording *recording,
                      size_t (*size_of)(const char *path, const char *pattern), const char *pattern,
                      size_t *n)
{
    uint32_t limit = mt_definitions_frame_limit(recording->definitions),
             *first = calloc(limit + 1, sizeof *first);
    *n = 0;
    if (!first || mt_by_id_make(of_frame, limit, sizeof(uint32_t))) {
        free(first);
        return -ENOMEM;
    }
    for (uint32_t frame = 1; frame < limit; frame++) {
        const char *path = mt_recorded_module(recording, frame);
        size_t size = size_of(path, pattern), other = 0;
        if (!size)
            continue;
        for (; other < *n; other++) {
            const char *known = mt_recorded_module(recording, first[other]);
            if (size_of(known, pattern) == size && !strncmp(known, path, size))
                break;
        }
        if (other == *n)
            first[(*n)++] = frame;
        *(uint32_t *)mt_by_id(of_frame, frame) = (uint32_t)other + 1;
    }
    free(first);
    return 0;
}

static size_t layer_size(const char *path, const char *unused)
{
    (void)unused;
    return mt_layer_size(path);
}

int mt_shard_groups_find(struct mt_shard_groups *groups, const struct mt_recording *recording)
{
    *groups = (struct mt_shard_groups){0};
    int rc = mt_modules_number(&groups->of_frame, recording, layer_size, NULL, &groups->n);
    groups->n++; /* 0: no layer */
    return rc;
}

void mt_shard_groups_clear(struct mt_shard_groups *groups)
{
    mt_by_id_clear(&groups->of_frame);
    *groups = (struct mt_shard_groups){0};
}

static uint32_t group_of(const struct mt_turn *turn, const struct mt_by_id *of_frame)
{
    return turn->module ? *(uint32_t *)mt_by_id(of_frame, turn->module) : 0;
}

/* Return the group's last call in this iteration without a backward, or else the one whose backward
 * is in progress. */
static struct mt_module_call *awaited(const struct mt_module_calls *calls, size_t floor,
                                      uint32_t group, uint64_t event)
{
    struct mt_module_call *goes_on = NULL;
    for (size_t i = calls->n; i > floor; i--) {
        struct mt_module_call *call = &calls->call[i - 1];
        if (call->group != group)
            continue;
        if (!call->backward) {
            call->backward = event;
            return call;
        }
        goes_on = goes_on ? goes_on : call;
    }
    return goes_on;
}

static void end_call(struct mt_module_call *call, uint8_t phase, uint64_t event)
{
    if (call && phase == MT_PHASE_FORWARD)
        call->forward_end = event;
    else if (call)
        call->backward_end = event;
}

int mt_module_calls_find(struct mt_module_calls *calls, const struct mt_recording *recording,
                         const struct mt_by_id *of_frame)
{
    struct mt_module_call *call = NULL;
    uint32_t group = 0;
    uint8_t phase = MT_PHASE_OUTSIDE;
    bool went_back = false;
    size_t floor = 0;
    *calls = (struct mt_module_calls){0};
    for (size_t i = 0; i < recording->n_turns; i++) {
        const struct mt_turn *turn = &recording->turn[i];
        bool is_forward = turn->phase == MT_PHASE_FORWARD,
             is_back = turn->phase == MT_PHASE_BACKWARD;
        uint32_t now = is_forward || is_back ? group_of(turn, of_frame) : 0;
        went_back |= is_back;
        if (now == group && turn->phase == phase)
            continue;
        end_call(call, phase, turn->event);
        group = now;
        phase = turn->phase;
        call = now && is_back ? awaited(calls, floor, now, turn->event) : NULL;
        if (!now || !is_forward)
            continue;
        if (MT_GROW(calls->call, calls->capacity, calls->n))
            return -ENOMEM;
        floor = went_back ? calls->n : floor;
        went_back = false;
        call = &calls->call[calls->n++];
        *call = (struct mt_module_call){.group = now, .forward = turn->event};
    }
    end_call(call, phase, recording->events + 1);
    return 0;
}
