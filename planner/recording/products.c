/* SPDX-License-Identifier: Apache-2.0 */
/* Products: with weights they have a row for each of the batch's, and show what is of it; those of
 * activations may grow otherwise, as pairs of rows do. */
#include "analyzer/support/grow.h"
#include "analyzer/support/median.h"
#include "facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many elements parameters have, in order: a copy in another type has as many. */
struct weights {
    uint64_t *elements;
    size_t n;
};

static int find_weights(struct weights *weights, const struct mt_recording *recording)
{
    weights->n = 0;
    weights->elements = calloc(recording->n + 1, sizeof *weights->elements);
    for (size_t i = 0; weights->elements && i < recording->n; i++)
        if (recording->block[i].category == MT_CATEGORY_PARAMETERS)
            weights->elements[weights->n++] = mt_recorded_elements(&recording->block[i]);
    if (!weights->elements)
        return -ENOMEM;
    mt_sort_sizes(weights->elements, weights->n);
    return 0;
}

static bool is_weight(const struct weights *weights, const struct mt_recorded_block *block)
{
    uint64_t elements = mt_recorded_elements(block);
    return mt_is_of_model(block) ||
           bsearch(&elements, weights->elements, weights->n, sizeof elements, mt_by_value);
}

/* Count the activations that a node saved, each once; 0 if a weight is among them, or what is not
 * known. *largest: the elements of the largest one. */
static unsigned factors_of(const struct mt_recording *recording, const struct weights *weights,
                           const struct mt_recorded_node *node, uint64_t *largest)
{
    unsigned n = 0;
    *largest = 0;
    for (uint32_t i = 0; i < node->n_saves; i++) {
        const uint64_t *save = recording->save + node->first_save;
        const struct mt_recorded_block *block = mt_recorded_at(recording, save[i]);
        if (!block || is_weight(weights, block))
            return 0;
        uint64_t elements = mt_recorded_elements(block);
        n += !i || save[i] != save[i - 1];
        *largest = elements > *largest ? elements : *largest;
    }
    return n;
}

static bool is_free_product(const struct mt_recording *recording, const struct weights *weights,
                            const struct mt_recorded_node *node, const char *name)
{
    const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
    uint64_t largest;
    unsigned n = factors_of(recording, weights, node, &largest);
    bool has_rows_twice = n == 1 && node->n_saves == 2 && strstr(name, "MmBackward");
    if (strstr(name, "MmBackward") || strstr(name, "AddmmBackward") ||
        strstr(name, "LinearBackward"))
        return n == 2 || has_rows_twice;
    return strstr(name, "MulBackward") && output && n == 2 &&
           mt_recorded_elements(output) > largest;
}

bool mt_multiplies_freely(const struct mt_recording *recording)
{
    struct weights weights;
    size_t batched = 0, softmaxes = 0;
    bool is_free = find_weights(&weights, recording) != 0;
    for (size_t i = 0; !is_free && i < recording->n_nodes; i++) {
        const struct mt_recorded_node *node = &recording->node[i];
        const char *name = node->name ? mt_string(recording->definitions, node->name) : "";
        uint64_t largest;
        softmaxes += strstr(name, "SoftmaxBackward") && !strstr(name, "LogSoftmax");
        if (strstr(name, "BmmBackward") || strstr(name, "BaddbmmBackward"))
            batched += factors_of(recording, &weights, node, &largest) != 0;
        else
            is_free = is_free_product(recording, &weights, node, name);
    }
    free(weights.elements);
    return is_free || batched > 2 * softmaxes;
}

/* Return whether the node, whose name is not known before it has run, saves an input and the weight
 * of a linear layer: the elements of input, weight and output are rows * in, in * out, rows * out.
 */
static bool is_as_product(const struct mt_recording *recording, const struct weights *weights,
                          const struct mt_recorded_node *node)
{
    const struct mt_recorded_block *output = mt_recorded_at(recording, node->output);
    uint64_t weight = 0, input = 0;
    if (node->n_saves != 2 || !output || is_weight(weights, output))
        return false;
    for (uint32_t i = 0; i < 2; i++) {
        const struct mt_recorded_block *block = mt_node_save(recording, node, i);
        uint64_t elements = block ? mt_recorded_elements(block) : 0;
        if (elements && is_weight(weights, block))
            weight = elements;
        else
            input = elements;
    }
    if (!weight || !input)
        return false;
    double out = (double)mt_recorded_elements(output);
    double rows = sqrt((double)input * out / (double)weight);
    return rows >= 1 && fmod(rows, 1) == 0 && fmod((double)input, rows) == 0 &&
           fmod(out, rows) == 0;
}

/* Return whether a node's output has a row for each row of its input: weights are not what goes
 * through it. */
static bool is_by_rows(const struct mt_recording *recording, const struct weights *weights,
                       const struct mt_recorded_node *node, const char *name)
{
    static const char *const rows[] = {"AddmmBackward",       "MmBackward",        "LinearBackward",
                                       "EmbeddingBackward",   "LayerNormBackward", "RmsNorm",
                                       "ConvolutionBackward", "RnnBackward"};
    size_t i = 0, n = 0;
    if (!node->name)
        return is_as_product(recording, weights, node);
    while (i < sizeof rows / sizeof *rows && !strstr(name, rows[i]))
        i++;
    if (i == sizeof rows / sizeof *rows || strstr(name, "BmmBackward") ||
        is_free_product(recording, weights, node, name))
        return false;
    for (uint32_t save = 0; save < node->n_saves; save++) {
        const struct mt_recorded_block *block = mt_node_save(recording, node, save);
        n += block && is_weight(weights, block);
    }
    return n < 2 || n < node->n_saves;
}

static bool has_elements(const struct mt_element_counts *counts, uint64_t elements)
{
    size_t i = 0;
    while (i < counts->n && counts->of[i] != elements)
        i++;
    return i < counts->n;
}

/* Note how many elements a block has. A program has few such sizes; what has more is not worth a
 * search. 0 or -ENOMEM. */
static int show(struct mt_element_counts *counts, const struct mt_recorded_block *block)
{
    enum { MOST = 4096 };
    if (!block || counts->n == MOST || has_elements(counts, mt_recorded_elements(block)))
        return 0;
    return MT_APPEND(counts->of, counts->capacity, counts->n, mt_recorded_elements(block));
}

/* Return whether a node's output has an element for each pair of rows: scores of all texts for all
 * images, distances. A broadcast product need not: one factor may be of one row. */
static bool is_of_pairs(const struct mt_recording *recording, const struct weights *weights,
                        const struct mt_recorded_node *node, const char *name)
{
    return strstr(name, "CdistBackward") || strstr(name, "EuclideanDistBackward") ||
           (!strstr(name, "MulBackward") && is_free_product(recording, weights, node, name));
}

/* Note what a node shows: a product with weights its input and its output, one of two batches its
 * output, one of rows with rows that this has pairs. 0 or -ENOMEM. */
static int show_node(struct mt_of_batch *of, const struct mt_recording *recording,
                     const struct weights *weights, const struct mt_recorded_node *node)
{
    const char *name = node->name ? mt_string(recording->definitions, node->name) : "";
    bool is_of_rows = is_by_rows(recording, weights, node, name), takes_shown = false;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < node->n_saves; i++) {
        const struct mt_recorded_block *block = mt_node_save(recording, node, i);
        if (!block || is_weight(weights, block))
            continue;
        takes_shown |= has_elements(&of->rows, mt_recorded_elements(block));
        rc = is_of_rows && !mt_outlives_step(recording, block) ? show(&of->rows, block) : 0;
    }
    bool is_batched = strstr(name, "BmmBackward") || strstr(name, "BaddbmmBackward");
    if (!rc && (is_of_rows || (is_batched && takes_shown)))
        rc = show(&of->rows, mt_recorded_at(recording, node->output));
    if (!rc && is_of_pairs(recording, weights, node, name))
        rc = show(&of->pairs, mt_recorded_at(recording, node->output));
    return rc;
}

int mt_of_batch_find(struct mt_of_batch *of, const struct mt_recording *recording)
{
    struct weights weights;
    int rc = find_weights(&weights, recording);
    *of = (struct mt_of_batch){0};
    for (size_t i = 0; !rc && i < recording->n_nodes; i++)
        rc = show_node(of, recording, &weights, &recording->node[i]);
    free(weights.elements);
    return rc;
}

/* Return whether a block has so many elements; of one whose type is not known any width may be. */
static bool is_among(const struct mt_element_counts *counts, const struct mt_recorded_block *block)
{
    bool is_there = has_elements(counts, mt_recorded_elements(block));
    for (unsigned width = 1; !block->dtype && !is_there && width <= 8; width *= 2)
        is_there = has_elements(counts, block->size / width);
    return is_there;
}

bool mt_is_of_batch(const struct mt_of_batch *of, const struct mt_recorded_block *block)
{
    return is_among(&of->rows, block) && !mt_is_of_pairs(of, block);
}

bool mt_is_of_pairs(const struct mt_of_batch *of, const struct mt_recorded_block *block)
{
    uint64_t elements = mt_recorded_elements(block);
    bool is_exact = has_elements(&of->pairs, elements);
    return !has_elements(&of->rows, elements) &&
           (is_exact || (is_among(&of->pairs, block) && !is_among(&of->rows, block)));
}

void mt_of_batch_clear(struct mt_of_batch *of)
{
    free(of->rows.of);
    free(of->pairs.of);
    *of = (struct mt_of_batch){0};
}
