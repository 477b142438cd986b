/* SPDX-License-Identifier: Apache-2.0 */
#include "edits.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"
#include "analyzer/support/to-integer.h"
#include "planner/recording/facts.h"

#include <stdlib.h>
#include <string.h>

int mt_edits_begin(struct mt_edits *edits, const struct mt_recording *recording)
{
    *edits = (struct mt_edits){.recording = recording};
    if (MT_GROW(edits->block, edits->capacity, recording->n))
        return -ENOMEM;
    edits->n = recording->n;
    for (size_t i = 0; i < recording->n; i++)
        edits->block[i] = (struct mt_edit){.begin = mt_moment_of(recording->block[i].begin),
                                           .end = mt_moment_of(recording->block[i].end),
                                           .size = recording->block[i].size};
    return 0;
}

void mt_edits_clear(struct mt_edits *edits)
{
    free(edits->block);
    *edits = (struct mt_edits){0};
}

void mt_edits_add(struct mt_edits *edits, uint64_t begin, uint64_t end, uint64_t bytes)
{
    mt_edits_add_as(edits, MT_ADDED_OTHER, begin, end, bytes);
}

uint64_t mt_edited_bytes(const struct mt_edits *edits, const struct mt_recorded_block *parameter)
{
    uint64_t bytes = mt_recorded_elements(parameter) * mt_recorded_width(parameter);
    uint64_t now = edits->block[parameter - edits->recording->block].size;
    return now == parameter->size
               ? bytes
               : mt_to_uint64((double)bytes * (double)now / (double)parameter->size);
}

void mt_edits_add_as(struct mt_edits *edits, enum mt_added as, uint64_t begin, uint64_t end,
                     uint64_t bytes)
{
    if (begin >= end || !bytes || edits->rc)
        return;
    if (MT_GROW(edits->block, edits->capacity, edits->n)) {
        edits->rc = -ENOMEM;
        return;
    }
    edits->block[edits->n++] =
        (struct mt_edit){.begin = begin, .end = end, .size = mt_block_of(bytes), .as = as};
}

uint64_t mt_edits_unused(const struct mt_edits *edits, uint64_t moment)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < edits->recording->n; i++) {
        const struct mt_recorded_block *block = &edits->recording->block[i];
        const struct mt_edit *edit = &edits->block[i];
        if (edit->size && edit->begin <= moment && edit->end > moment)
            bytes += block->unused; /* a smaller request may leave this much unused */
    }
    return bytes;
}

struct rise {
    uint64_t moment;
    int64_t bytes;
};

/* At one moment, ends come before begins. */
MT_ORDER(by_moment, struct rise, MT_RISING(moment) ?: MT_RISING(bytes))

int mt_edits_peak(const struct mt_edits *edits, uint64_t *bytes, uint64_t *moment)
{
    struct rise *rise = calloc(edits->n * 2 + 1, sizeof *rise);
    size_t n = 0;
    int64_t live = (int64_t)edits->recording->unseen;
    *bytes = *moment = 0;
    if (!rise || edits->rc) {
        free(rise);
        return -ENOMEM;
    }
    for (size_t i = 0; i < edits->n; i++) {
        const struct mt_edit *block = &edits->block[i];
        if (!block->size || block->begin >= block->end)
            continue;
        rise[n++] = (struct rise){block->begin, (int64_t)block->size};
        if (block->end != MT_EVER)
            rise[n++] = (struct rise){block->end, -(int64_t)block->size};
    }
    qsort(rise, n, sizeof *rise, by_moment);
    for (size_t i = 0; i < n; i++) {
        live += rise[i].bytes;
        if (live > (int64_t)*bytes) {
            *bytes = (uint64_t)live;
            *moment = rise[i].moment;
        }
    }
    free(rise);
    return 0;
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
