/* SPDX-License-Identifier: Apache-2.0 */
/* A smaller batch, or a shorter sequence: what is neither the model's nor the optimizer's shrinks.
 * A smaller cache of keys and values, of fewer or of shorter sequences. */
#include "analyzer/support/median.h"
#include "kinds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Return the sizes of all parameters, in order. NULL: no memory. */
static uint64_t *parameter_sizes(const struct mt_recording *recording, size_t *n)
{
    uint64_t *sizes = calloc(recording->n + 1, sizeof *sizes);
    *n = 0;
    for (size_t i = 0; sizes && i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS)
            sizes[(*n)++] = recording->block[i].size;
    mt_sort_sizes(sizes, *n);
    return sizes;
}

static bool is_model_sized(const struct mt_recorded_block *block, const uint64_t *sizes, size_t n)
{
    return n && bsearch(&block->size, sizes, n, sizeof *sizes, mt_by_value);
}

/* Return whether the batch says how large it is. What is as large as a parameter may be one's, in
 * another form.
 */
static bool is_of_batch(const struct mt_recorded_block *block, const uint64_t *sizes, size_t n)
{
    if (mt_is_of_model(block) || block->is_addend)
        return false;
    return !is_model_sized(block, sizes, n) || block->phase == MT_PHASE_BACKWARD ||
           block->category == MT_CATEGORY_ACTIVATIONS || block->category == MT_CATEGORY_INPUTS;
}

/* Return the elements of all parameters, in order. NULL: no memory. */
static uint64_t *parameter_elements(const struct mt_recording *recording)
{
    uint64_t *elements = calloc(recording->n + 1, sizeof *elements);
    size_t n = 0;
    for (size_t i = 0; elements && i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS)
            elements[n++] = mt_recorded_elements(&recording->block[i]);
    mt_sort_sizes(elements, n);
    return elements;
}

/* The least bytes of what may be a copy of a parameter: smaller ones are not worth a doubt. */
#define COPY_LEAST 65536u

/* Return whether it may be a copy of a parameter in another type, as autocast makes and keeps it:
 * it has as many elements. */
static bool may_be_copy(const struct mt_recorded_block *block, const uint64_t *elements, size_t n)
{
    uint64_t own = block->size / mt_recorded_width(block);
    return block->size >= COPY_LEAST && block->dtype && mt_recorded_width(block) < 4 &&
           block->phase != MT_PHASE_BACKWARD && n &&
           bsearch(&own, elements, n, sizeof own, mt_by_value);
}

/* How a block's bytes grow with the sequence, as far as its operator tells. */
enum growth { GROWTH_UNKNOWN, GROWTH_LINEAR, GROWTH_SQUARE };

/* Operators whose output has a row for each of its input's. */
static const char *const by_rows[] = {"AddmmBackward",      "MmBackward",        "LinearBackward",
                                      "EmbeddingBackward",  "LayerNormBackward", "RmsNorm",
                                      "ConvolutionBackward"};

/* Scores of attention: as many elements as what a softmax makes in the same module or one around
 * it. They grow with the square of the sequence; others of so many elements need not. */
struct scores {
    struct mt_score {
        const char *path;
        uint64_t elements;
        uint64_t rows; /* bytes of the newest output before it that has a row for each position */
    } *of;
    size_t n;
    bool is_square, is_linear; /* as two lengths of the recording show; neither: there is one */
    uint8_t *growth;           /* enum growth, by block */
    uint8_t
        *seen; /* by name of a node: 1 << enum growth of its outputs that are as large as scores */
};

static bool is_softmax(const struct mt_recording *recording, uint32_t name)
{
    const char *text = mt_string(recording->definitions, name);
    return name && strstr(text, "SoftmaxBackward") && !strstr(text, "LogSoftmax");
}

static uint64_t elements_of(const struct mt_recorded_block *block)
{
    return block->size / mt_recorded_width(block);
}

static bool is_by_rows(const char *name)
{
    for (size_t i = 0; i < sizeof by_rows / sizeof *by_rows; i++)
        if (strstr(name, by_rows[i]))
            return true;
    return false;
}

/* Compare two softmaxes of one module, in iterations of different lengths. Within windows, or next
 * to a fixed number of rows, scores grow as rows do. */
static void compare_lengths(struct scores *scores, const struct mt_score *one,
                            const struct mt_score *other)
{
    if (!one->rows || !other->rows || one->rows == other->rows)
        return;
    double rows = (double)one->rows / (double)other->rows;
    double grown = (double)one->elements / (double)other->elements;
    bool is_linear = fabs(grown - rows) < fabs(grown - rows * rows);
    scores->is_linear |= is_linear;
    scores->is_square |= !is_linear;
}

static void note_scores(struct scores *scores, const struct mt_score *score)
{
    bool is_known = false;
    for (size_t i = 0; i < scores->n; i++) {
        if (strcmp(scores->of[i].path, score->path) != 0)
            continue;
        is_known |= scores->of[i].elements == score->elements;
        compare_lengths(scores, score, &scores->of[i]);
    }
    if (!is_known)
        scores->of[scores->n++] = *score;
}

static void find_scores(struct scores *scores, const struct mt_recording *recording)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!block->output_of)
            continue;
        if (is_by_rows(mt_string(recording->definitions, block->output_of)))
            rows = block->size;
        struct mt_score score = {mt_recorded_module(recording, block->module), elements_of(block),
                                 rows};
        if (is_softmax(recording, block->output_of))
            note_scores(scores, &score);
    }
}

static bool is_part_of(const char *path, const char *whole)
{
    size_t size = strlen(whole);
    return !strncmp(path, whole, size) && (!size || !path[size] || path[size] == '.');
}

/* Return whether the block has as many elements as scores; of one whose type is not known any width
 * may be. */
static bool is_as_scores(const struct scores *scores, const struct mt_recording *recording,
                         const struct mt_recorded_block *block)
{
    const char *path = scores->n ? mt_recorded_module(recording, block->module) : "";
    for (size_t i = 0; i < scores->n; i++) {
        uint64_t elements = scores->of[i].elements;
        bool is_equal = block->dtype ? elements_of(block) == elements
                                     : block->size == mt_block_of(elements) ||
                                           block->size == mt_block_of(elements * 2) ||
                                           block->size == mt_block_of(elements * 4);
        if (is_equal && is_part_of(path, scores->of[i].path))
            return true;
    }
    return false;
}

/* Return how a node's output grows, by what went in: products of batches make scores of rows, and
 * rows of scores; others keep the growth of what they saved. */
static enum growth growth_of(const struct scores *scores, const struct mt_recording *recording,
                             const struct mt_recorded_node *node, bool is_as_large)
{
    const char *name = mt_string(recording->definitions, node->name);
    enum growth saved = GROWTH_UNKNOWN;
    if (is_softmax(recording, node->name))
        return GROWTH_SQUARE;
    if (is_by_rows(name))
        return GROWTH_LINEAR;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const struct mt_recorded_block *block = mt_node_save(recording, node, i);
        enum growth growth = block ? scores->growth[block - recording->block] : GROWTH_UNKNOWN;
        saved = growth > saved ? growth : saved;
    }
    if (!strstr(name, "BmmBackward") && !strstr(name, "BaddbmmBackward"))
        return saved;
    return saved == GROWTH_SQUARE ? GROWTH_LINEAR : is_as_large ? GROWTH_SQUARE : GROWTH_LINEAR;
}

static void find_growth(struct scores *scores, const struct mt_recording *recording)
{
    for (size_t i = 0; i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
        if (!output || !node->name || scores->growth[output - recording->block])
            continue;
        bool is_as_large = is_as_scores(scores, recording, output);
        enum growth growth = growth_of(scores, recording, node, is_as_large);
        scores->growth[output - recording->block] = (uint8_t)growth;
        if (is_as_large && growth)
            scores->seen[node->name] |= (uint8_t)(1u << growth);
    }
}

/* Return how a block grows. In backward the node that makes a gradient tells, if all of its name
 * are alike. */
static enum growth growth_at(const struct scores *scores, const struct mt_recording *recording,
                             size_t i)
{
    const struct mt_recorded_block *block = &recording->block[i];
    if (!is_as_scores(scores, recording, block))
        return GROWTH_LINEAR;
    if (block->phase != MT_PHASE_BACKWARD || !block->made_in)
        return (enum growth)scores->growth[i];
    unsigned seen = scores->seen[block->made_in];
    return seen == 1u << GROWTH_SQUARE   ? GROWTH_SQUARE
           : seen == 1u << GROWTH_LINEAR ? GROWTH_LINEAR
                                         : GROWTH_UNKNOWN;
}

static int read_scores(struct scores *scores, const struct mt_recording *recording)
{
    *scores = (struct scores){
        .of = calloc(recording->n + 1, sizeof *scores->of),
        .growth = calloc(recording->n + 1, 1),
        .seen = calloc((size_t)mt_definitions_string_limit(recording->definitions) + 1, 1)};
    if (!scores->of || !scores->growth || !scores->seen)
        return -ENOMEM;
    find_scores(scores, recording);
    if (scores->n)
        find_growth(scores, recording);
    return 0;
}

/* Return the part of a block's bytes that stay. What may be scores or not is a guess, and with one
 * length so is how they grow. of: what is of the batch; NULL: the sequence changes. */
static double part_of(struct mt_edits *edits, const struct scores *scores,
                      const struct mt_of_batch *of, size_t i, double part)
{
    if (of && mt_is_of_pairs(of, &edits->recording->block[i]))
        return part * part;
    enum growth growth = scores->n ? growth_at(scores, edits->recording, i) : GROWTH_LINEAR;
    bool is_known = scores->is_square != scores->is_linear;
    if (growth == GROWTH_LINEAR || (is_known && scores->is_linear))
        return part;
    if (growth == GROWTH_SQUARE && is_known)
        return part * part;
    edits->guesses |= MT_GUESS_SCORES;
    return edits->without & MT_GUESS_SCORES ? part : part * part;
}

/* Return which guess it is that the block is of the batch; 0: none. */
static unsigned guess_of(const struct mt_recording *recording,
                         const struct mt_recorded_block *block)
{
    if (block->category == MT_CATEGORY_OTHER || mt_outlives_step(recording, block))
        return MT_GUESS_STORES;
    return block->category == MT_CATEGORY_INPUTS ? MT_GUESS_INPUTS : 0;
}

/* Return whether it is shown to be of the batch, or too small to matter. Of one whose type is not
 * known, and that is as large as a parameter, nothing is. */
static bool is_shown(const struct mt_of_batch *of, const struct mt_recorded_block *block,
                     const uint64_t *sizes, size_t n)
{
    return block->size < COPY_LEAST ||
           (mt_is_of_batch(of, block) && (block->dtype || !is_model_sized(block, sizes, n)));
}

static int scale(struct mt_edits *edits, double part, bool is_sequence)
{
    const struct mt_recording *recording = edits->recording;
    struct scores scores = {0};
    struct mt_of_batch of = {0};
    size_t n;
    uint64_t *sizes = parameter_sizes(recording, &n);
    uint64_t *elements = parameter_elements(recording);
    int rc = sizes && elements ? mt_of_batch_find(&of, recording) : -ENOMEM;
    bool *is_made = rc ? NULL : mt_made_in_forward(recording);
    rc = rc || is_made ? rc : -ENOMEM;
    if (!rc && is_sequence)
        rc = read_scores(&scores, recording);
    for (size_t i = 0; !rc && i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (!is_of_batch(block, sizes, n))
            continue;
        unsigned guess = guess_of(recording, block) | (is_made[i] ? MT_GUESS_MADE : 0) |
                         (may_be_copy(block, elements, n) ? MT_GUESS_COPIES : 0) |
                         (is_sequence || is_shown(&of, block, sizes, n) ? 0 : MT_GUESS_OTHERS);
        edits->guesses |= guess;
        double stays = guess & edits->without
                           ? (is_sequence && is_made[i] ? part * part : 1)
                           : part_of(edits, &scores, is_sequence ? NULL : &of, i, part);
        edits->block[i].size = mt_scaled(edits->block[i].size, stays);
    }
    mt_of_batch_clear(&of);
    free(sizes);
    free(elements);
    free(scores.of);
    free(scores.growth);
    free(scores.seen);
    free(is_made);
    return rc;
}

/* Change the shape; without a model nothing says what is for the batch. */
static int change_shape(struct mt_edits *edits, const char *argument, struct mt_modelled *change,
                        bool is_sequence)
{
    double part = mt_change_part(argument);
    size_t i = 0;
    while (i < edits->recording->n && edits->recording->block[i].phase != MT_PHASE_FORWARD)
        i++;
    if (part <= 0)
        return -EINVAL;
    change->why_not = i >= edits->recording->n ? "no forward of a model was recorded"
                      : is_sequence && mt_multiplies_freely(edits->recording)
                          ? "activations are multiplied with each other, so their growth is unknown"
                          : NULL;
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

/* Return whether a request that failed was for the cache: a line that made some of it made it. */
static bool was_for_cache(const struct mt_recording *recording,
                          const struct mt_recorded_block *failed)
{
    uint32_t python = mt_stack(recording->definitions, failed->stack)->python;
    for (size_t i = 0; failed->was_caught && python && i < recording->n; i++)
        if (mt_is_of_cache(&recording->block[i]) &&
            mt_stack(recording->definitions, recording->block[i].stack)->python == python)
            return true;
    return false;
}

/* Scale the cache alone: what else its sequences need is left as it was. */
int mt_change_kv_cache(struct mt_edits *edits, const char *argument, struct mt_modelled *change)
{
    const struct mt_recording *recording = edits->recording;
    double part = mt_change_part(argument);
    if (part <= 0)
        return -EINVAL;
    if (!mt_has_cache(recording)) {
        change->why_not = "no KV cache was recorded";
        return -ENOENT;
    }
    for (size_t i = 0; i < recording->n; i++) {
        const struct mt_recorded_block *block = &recording->block[i];
        if (mt_is_of_cache(block) || was_for_cache(recording, block))
            edits->block[i].size = mt_scaled(edits->block[i].size, part);
    }
    return 0;
}
