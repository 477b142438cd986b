/* SPDX-License-Identifier: Apache-2.0 */
#include "holder-tree.h"
#include "analyzer/support/address-map.h"
#include "analyzer/support/search.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS (1u << 20) /* of a tree: what is below is left together */
#define NO_INDEX UINT64_MAX

/* A path, each step ended by a line feed, with "[#]" in place of an index. */
struct path {
    char *text;
    struct {
        uint32_t begin, length;
        uint64_t index; /* NO_INDEX: it has none */
    } *step;
    uint32_t n;
    uint32_t root;
};

struct entry {
    const struct path *path;
    const struct mt_holding *holding;
    uint32_t common; /* leading steps of all paths of the block */
};

struct build {
    struct mt_holder_tree *tree;
    const struct mt_definitions *definitions;
    struct mt_address_map places; /* of paths, by string id */
    struct path *path;
    size_t n, capacity;
    struct entry *entry;
};

/* Return the number in "[12]" or "['12']", and copy the step with '#' in its place; NO_INDEX: it is
 * another step, copied as it is. *length: of the copy. */
static uint64_t copy_step(char *out, const char *text, size_t n, uint32_t *length)
{
    size_t quote = n > 4 && text[1] == '\'' && text[n - 2] == '\'';
    size_t first = 1 + quote, end = n - 1 - quote;
    uint64_t index = 0;
    bool is_index = n > 2 && text[0] == '[' && text[n - 1] == ']' && end > first;
    is_index = is_index && end - first < 19;
    for (size_t i = first; is_index && i < end; i++) {
        is_index = isdigit((unsigned char)text[i]);
        index = index * 10 + (uint64_t)(text[i] - '0');
    }
    if (!is_index) {
        memcpy(out, text, n);
        *length = (uint32_t)n;
        return NO_INDEX;
    }
    *length = quote ? 5 : 3;
    memcpy(out, quote ? "['#']" : "[#]", *length);
    return index;
}

static void add_step_text(struct path *path, uint32_t *used, const char *text, size_t n)
{
    uint32_t length;
    path->step[path->n].index = copy_step(path->text + *used, text, n, &length);
    path->step[path->n].begin = *used;
    path->step[path->n++].length = length;
    *used += length;
    path->text[(*used)++] = '\n';
}

/* Cut a path into its steps, at least one. 0 or -ENOMEM. */
static int cut(struct path *path, const char *text)
{
    size_t most = 1;
    for (const char *at = text; *at && most < MT_HOLDER_DEPTH; at++)
        most += *at == '\n';
    path->text = malloc(2 * strlen(text) + 8); /* "[1]" becomes no longer, but gets an end */
    path->step = calloc(most, sizeof *path->step);
    if (!path->text || !path->step)
        return -ENOMEM;
    uint32_t used = 0;
    while (path->n < most && (*text || !path->n)) {
        size_t n = strcspn(text, "\n");
        const char *rest = text + n + (text[n] == '\n');
        if (path->n == MT_HOLDER_DEPTH - 1 && *rest)
            add_step_text(path, &used, "...", 3);
        else if (n)
            add_step_text(path, &used, text, n);
        else if (!*rest && !path->n)
            add_step_text(path, &used, "?", 1);
        text = rest;
    }
    path->text[used] = '\0';
    return 0;
}

/* Return a path of the definitions, cut. NULL: no memory. */
static const struct path *path_of(struct build *build, const struct mt_holder *holder)
{
    uint64_t key = (uint64_t)holder->root << 32 | holder->path;
    size_t before = build->n;
    uint32_t place = MT_PLACE_OF(&build->places, key, build->path, build->capacity, build->n);
    if (!place)
        return NULL;
    struct path *path = &build->path[place - 1];
    if (build->n == before)
        return path;
    path->root = holder->root;
    return cut(path, mt_string(build->definitions, holder->path)) ? NULL : path;
}

static bool is_same_step(const struct path *a, const struct path *b, uint32_t depth)
{
    return a->step[depth].length == b->step[depth].length &&
           !memcmp(a->text + a->step[depth].begin, b->text + b->step[depth].begin,
                   a->step[depth].length) &&
           (depth || a->root == b->root);
}

/* Make the entry of a block: paths move as others are added, so that they are only numbered. */
static int number_paths(struct build *build, const struct mt_holding *holdings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < holdings[i].held->n; j++)
            if (!path_of(build, &holdings[i].held->by[j]))
                return -ENOMEM;
    return 0;
}

static void make_entry(struct build *build, struct entry *entry, const struct mt_holding *holding)
{
    entry->holding = holding;
    entry->path = path_of(build, &holding->held->by[0]);
    entry->common = entry->path->n;
    for (size_t i = 1; i < holding->held->n; i++) {
        const struct path *other = path_of(build, &holding->held->by[i]);
        uint32_t same = 0;
        while (same < entry->common && same < other->n && is_same_step(entry->path, other, same))
            same++;
        entry->common = same;
    }
}

static int by_path(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->path == b->path)
        return MT_RISING(holding->block);
    return MT_RISING(path->root) ?: strcmp(a->path->text, b->path->text) ?: MT_RISING(holding->block);
}

/* The entries that go on with one step. */
struct branch {
    size_t first, end;
    uint64_t bytes;
};

MT_ORDER(by_bytes, struct branch, MT_FALLING(bytes) ?: MT_RISING(first))

static int by_number(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return MT_COMPARE(*a, *b);
}

/* Note the indices of a step. 0 or -ENOMEM. */
static int note_indices(struct mt_holder_step *step, const struct entry *entry, size_t n)
{
    uint64_t *index = calloc(n, sizeof *index);
    if (!index)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        index[i] = entry[i].path->step[step->depth].index;
    qsort(index, n, sizeof *index, by_number);
    step->low = index[0];
    step->high = index[n - 1];
    for (size_t i = 0; i < n; i++)
        step->places += !i || index[i] != index[i - 1];
    free(index);
    return 0;
}

static int add_below(struct build *build, size_t first, size_t end, uint32_t depth);

static int add_step(struct build *build, const struct branch *branch, uint32_t depth)
{
    struct mt_holder_tree *tree = build->tree;
    const struct entry *entry = &build->entry[branch->first];
    struct mt_holder_step step = {.text = entry->path->text + entry->path->step[depth].begin,
                                  .length = entry->path->step[depth].length,
                                  .depth = depth,
                                  .root = entry->path->root,
                                  .largest = entry->holding->block,
                                  .first = branch->first};
    uint64_t largest = 0;
    size_t n = branch->end - branch->first, at = tree->n;
    for (size_t i = 0; i < n; i++) {
        uint64_t bytes = entry[i].holding->bytes;
        step.bytes += bytes;
        step.blocks++;
        step.own += entry[i].path->n == depth + 1 ? bytes : 0;
        step.views += entry[i].holding->held->by->view;
        step.n_views += entry[i].holding->held->by->view > 0;
        step.only += entry[i].common > depth ? bytes : 0;
        if (bytes > largest) {
            largest = bytes;
            step.largest = entry[i].holding->block;
        }
    }
    int rc = entry->path->step[depth].index == NO_INDEX ? 0 : note_indices(&step, entry, n);
    if (!rc)
        rc = MT_APPEND(tree->step, tree->capacity, tree->n, step);
    if (!rc && tree->n < MOST_STEPS)
        rc = add_below(build, branch->first, branch->end, depth + 1);
    if (!rc)
        tree->step[at].end = tree->n;
    return rc;
}

/* Add the steps at a depth of entries that are equal above it, the largest first. */
static int add_below(struct build *build, size_t first, size_t end, uint32_t depth)
{
    struct branch *branch = NULL;
    size_t n = 0, capacity = 0;
    int rc = 0;
    while (first < end && build->entry[first].path->n <= depth)
        first++; /* they end above */
    for (size_t i = first; i < end && !rc; i++) {
        const struct path *path = build->entry[i].path;
        if (i == first || !is_same_step(build->entry[i - 1].path, path, depth))
            rc = MT_APPEND(branch, capacity, n, (struct branch){.first = i});
        if (rc)
            break;
        branch[n - 1].end = i + 1;
        branch[n - 1].bytes += build->entry[i].holding->bytes;
    }
    if (n)
        qsort(branch, n, sizeof *branch, by_bytes);
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_step(build, &branch[i], depth);
    free(branch);
    return rc;
}

/* Give the paths' texts to the tree, and the rest back. */
static int keep_texts(struct build *build)
{
    struct mt_holder_tree *tree = build->tree;
    int rc =
        build->n ? mt_grow(&tree->text, &tree->texts_capacity, build->n, sizeof *tree->text) : 0;
    for (size_t i = 0; i < build->n; i++) {
        free(build->path[i].step);
        if (rc)
            free(build->path[i].text);
        else
            tree->text[tree->n_texts++] = build->path[i].text;
    }
    if (rc)
        tree->n = 0;
    free(build->path);
    free(build->entry);
    mt_address_map_clear(&build->places);
    return rc;
}

int mt_holder_tree_build(struct mt_holder_tree *tree, const struct mt_definitions *definitions,
                         const struct mt_holding *holdings, size_t n)
{
    struct build build = {.tree = tree, .definitions = definitions};
    *tree = (struct mt_holder_tree){0};
    build.entry = calloc(n + 1, sizeof *build.entry);
    tree->block = calloc(n + 1, sizeof *tree->block);
    int rc = build.entry && tree->block ? number_paths(&build, holdings, n) : -ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        make_entry(&build, &build.entry[i], &holdings[i]);
        tree->bytes += holdings[i].bytes;
        tree->blocks++;
    }
    if (!rc) {
        qsort(build.entry, n, sizeof *build.entry, by_path);
        for (size_t i = 0; i < n; i++)
            tree->block[i] = build.entry[i].holding->block;
        rc = add_below(&build, 0, n, 0);
    }
    int kept = keep_texts(&build);
    return rc ? rc : kept;
}

void mt_holder_tree_clear(struct mt_holder_tree *tree)
{
    for (size_t i = 0; i < tree->n_texts; i++)
        free(tree->text[i]);
    free(tree->text);
    free(tree->block);
    free(tree->step);
    *tree = (struct mt_holder_tree){0};
}

size_t mt_holder_run_end(const struct mt_holder_tree *tree, size_t at)
{
    while (at + 1 < tree->step[at].end && tree->step[at + 1].end == tree->step[at].end &&
           !tree->step[at].own)
        at++;
    return at;
}
