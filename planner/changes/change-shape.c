/* SPDX-License-Identifier: Apache-2.0 */
/* A smaller batch, or a shorter sequence: what is neither the model's nor the optimizer's shrinks.
 */
#include "kinds.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The sizes of all parameters, in order. NULL: no memory. */
static uint64_t *parameter_sizes(const struct mt_recording *recording, size_t *n)
{
    uint64_t *sizes = calloc(recording->n + 1, sizeof *sizes);
    *n = 0;
    for (size_t i = 0; sizes && i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS)
            sizes[(*n)++] = recording->block[i].size;
    if (*n)
        qsort(sizes, *n, sizeof *sizes, by_size);
    return sizes;
}

/* Whether the batch says how large it is. What is as large as a parameter may be one's, in another
 * form.
 */
static bool is_of_batch(const struct mt_recorded_block *block, const uint64_t *sizes, size_t n)
{
    if (mt_is_of_model(block) || block->is_addend)
        return false;
    bool is_model_sized = n && bsearch(&block->size, sizes, n, sizeof *sizes, by_size);
    return !is_model_sized || block->phase == MT_PHASE_BACKWARD ||
           block->category == MT_CATEGORY_ACTIVATIONS || block->category == MT_CATEGORY_INPUTS;
}

/* Scores of attention: as large as what a softmax makes in the same module or one around it, in
 * this width or another. They grow with the square of the sequence. */
struct scores {
    struct mt_score {
        const char *path;
        uint64_t bytes;
    } * of;
    size_t n;
};

static bool is_softmax(const struct mt_recording *recording, uint32_t name)
{
    const char *text = mt_string(recording->definitions, name);
    return name && strstr(text, "SoftmaxBackward") && !strstr(text, "LogSoftmax");
}

static int find_scores(struct scores *scores, const struct mt_recording *recording)
{
    scores->of = calloc(recording->n + 1, sizeof *scores->of);
    for (size_t i = 0; scores->of && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!is_softmax(recording, block->output_of))
            continue;
        struct mt_score score = {mt_recorded_module(recording, block->module), block->size};
        size_t j = 0;
        while (j < scores->n &&
               (scores->of[j].bytes != score.bytes || strcmp(scores->of[j].path, score.path) != 0))
            j++;
        if (j == scores->n)
            scores->of[scores->n++] = score;
    }
    return scores->of ? 0 : -ENOMEM;
}

static bool is_part_of(const char *path, const char *whole)
{
    size_t size = strlen(whole);
    return !strncmp(path, whole, size) && (!size || !path[size] || path[size] == '.');
}

static bool is_score(const struct scores *scores, const struct mt_recording *recording,
                     const struct mt_recorded_block *block)
{
    const char *path = scores->n ? mt_recorded_module(recording, block->module) : "";
    for (size_t i = 0; i < scores->n; i++) {
        uint64_t bytes = scores->of[i].bytes;
        if ((block->size == bytes || block->size == mt_block_of(bytes / 4) ||
             block->size == mt_block_of(bytes / 2)) &&
            is_part_of(path, scores->of[i].path))
            return true;
    }
    return false;
}

/* Which guess it is that the block is of the batch; 0: none. */
static unsigned guess_of(const struct mt_recording *recording,
                         const struct mt_recorded_block *block)
{
    if (block->category == MT_CATEGORY_OTHER || mt_outlives_step(recording, block))
        return MT_GUESS_STORES;
    return block->category == MT_CATEGORY_INPUTS ? MT_GUESS_INPUTS : 0;
}

static int scale(struct mt_edits *edits, double part, bool is_sequence)
{
    const struct mt_recording *recording = edits->recording;
    struct scores scores = {0};
    size_t n;
    uint64_t *sizes = parameter_sizes(recording, &n);
    int rc = sizes ? 0 : -ENOMEM;
    if (!rc && is_sequence)
        rc = find_scores(&scores, recording);
    for (size_t i = 0; !rc && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!is_of_batch(block, sizes, n))
            continue;
        unsigned guess = guess_of(recording, block);
        edits->guesses |= guess;
        if (!(guess & edits->without))
            edits->block[i].size = mt_scaled(
                edits->block[i].size, is_score(&scores, recording, block) ? part * part : part);
    }
    free(sizes);
    free(scores.of);
    return rc;
}

/* Without a model nothing tells what is for the batch. */
static int change_shape(struct mt_edits *edits, const char *argument, struct mt_modelled *change,
                        bool is_sequence)
{
    double part = mt_change_part(argument);
    size_t i = 0;
    while (i < edits->recording->n && edits->recording->block[i].phase != MT_PHASE_FORWARD)
        i++;
    if (part <= 0)
        return -EINVAL;
    change->why_not = i < edits->recording->n ? NULL : "no forward of a model was recorded";
    return change->why_not ? -ENOENT : scale(edits, part, is_sequence);
}

int mt_change_batch(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_shape(edits, argument, change, false);
}

int mt_change_sequence(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    return change_shape(edits, argument, change, true);
}
