/* SPDX-License-Identifier: Apache-2.0 */
#include "who.h"
#include "analyzer/classify/classify.h"
#include "analyzer/print/json.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/hash.h"
#include "analyzer/views/texts.h"
#include "course.h"
#include "life-facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 1024u

struct node {
    uint32_t name, place; /* texts */
    uint64_t bytes, blocks, found;
    uint64_t ends; /* bytes of stacks that end here */
    bool is_open;  /* shows more below: open_wide */
    uint64_t category[MT_CATEGORY_COUNT][MT_CERTAINTIES];
    uint32_t first, next; /* child, sibling; 0: none */
};

struct tree {
    const struct mt_replay *replay;
    struct node *node; /* 1: the root */
    size_t n, capacity;
    struct mt_texts texts;
    struct mt_address_map by_key, by_frame;
    bool has_no_memory;
};

/* Return the child with this name and place; create it if missing. Two children with one 64-bit
 * hash would share a node. */
static uint32_t child(struct tree *tree, uint32_t parent, const char *name, const char *place)
{
    struct node node = {0};
    bool is_named = !mt_texts_add(&tree->texts, name, &node.name) &&
                    !mt_texts_add(&tree->texts, place, &node.place);
    const uint32_t inputs[] = {parent, node.name, node.place};
    uint64_t key = mt_hash(MT_HASH_SEED, inputs, sizeof inputs);
    uint32_t known = mt_address_map_get(&tree->by_key, key);
    if (known)
        return known;
    if (!is_named || MT_GROW(tree->node, tree->capacity, tree->n) ||
        mt_address_map_put(&tree->by_key, key, (uint32_t)tree->n)) {
        tree->has_no_memory = true;
        return parent;
    }
    if (parent) {
        node.next = tree->node[parent].first;
        tree->node[parent].first = (uint32_t)tree->n;
    }
    tree->node[tree->n] = node;
    return (uint32_t)tree->n++;
}

static enum mt_certainty certainty_of(const struct mt_replay *replay, const struct mt_life *life)
{
    return mt_certainty_of(mt_rule_at(replay->question.rules, life->rule));
}

static void count(struct tree *tree, uint32_t at, const struct mt_life *life)
{
    struct node *node = &tree->node[at];
    node->bytes += life->size;
    node->blocks++;
    node->found += life->is_found ? life->size : 0;
    node->category[life->category][certainty_of(tree->replay, life)] += life->size;
}

static const struct mt_definitions *definitions(const struct tree *tree)
{
    return tree->replay->definitions;
}

static uint32_t descend(struct tree *tree, uint32_t at, const char *name, const char *place,
                        const struct mt_life *life)
{
    at = child(tree, at, name, place);
    count(tree, at, life);
    return at;
}

/* Return the child for a frame, whose name and place are made once for each parent. */
static uint32_t frame_child(struct tree *tree, uint32_t parent, uint32_t number)
{
    char place[MT_LIFE_TEXT];
    const uint32_t inputs[] = {parent, number};
    uint64_t key = mt_hash(MT_HASH_SEED, inputs, sizeof inputs);
    uint32_t known = mt_address_map_get(&tree->by_frame, key);
    if (known)
        return known;
    const struct mt_frame *frame = mt_frame(definitions(tree), number);
    mt_frame_place(place, frame);
    known = child(tree, parent, frame->function, place);
    tree->has_no_memory |= mt_address_map_put(&tree->by_frame, key, known) != 0;
    return known;
}

/* Write a stack's frames, outermost first: only Python's, unless there are none; folded: of these
 * only the program's own, unless there are none. */
static size_t frames_of(const struct tree *tree, uint32_t stack, bool with_native, bool is_folded,
                        uint32_t out[FRAMES_MAX])
{
    const struct mt_definitions *d = definitions(tree);
    size_t n = 0, from = FRAMES_MAX;
    bool has_python = mt_stack(d, stack)->python != 0;
    is_folded &= mt_stack(d, stack)->user != 0;
    for (uint32_t at = stack; at && from; at = mt_stack(d, at)->parent) {
        const struct mt_stack *one = mt_stack(d, at);
        if (!one->depth)
            break;
        if (is_folded ? one->user == at
                      : with_native || !has_python || !mt_frame(d, one->frame)->is_native)
            out[--from] = one->frame;
    }
    n = FRAMES_MAX - from;
    memmove(out, out + from, n * sizeof *out);
    return n;
}

static void short_name(const struct tree *tree, uint32_t node_name, char out[MT_LIFE_TEXT])
{
    mt_short_type_name(mt_string(definitions(tree), node_name), out, MT_LIFE_TEXT);
}

static uint32_t by_module_path(struct tree *tree, uint32_t at, const struct mt_life *life)
{
    char path[MT_LIFE_TEXT];
    snprintf(path, sizeof path, "%s", mt_stack_module(definitions(tree), life->module));
    char *rest = *path ? path : NULL;
    const char *place = at == 1 ? "" : "module"; /* which is plain where all are modules */
    for (char *name; (name = strsep(&rest, "."));)
        at = descend(tree, at, name, place, life);
    return at;
}

static uint32_t by_own_line(struct tree *tree, uint32_t at, const struct mt_life *life)
{
    char line[MT_LIFE_TEXT];
    mt_life_line(definitions(tree), life, line);
    return descend(tree, at, line, "", life);
}

/* End a life's path, or continue it below an open node. Return its last node. */
static uint32_t end_at(struct tree *tree, uint32_t at, const struct mt_life *life,
                       uint32_t (*more)(struct tree *, uint32_t, const struct mt_life *))
{
    tree->node[at].ends += life->size;
    return tree->node[at].is_open ? more(tree, at, life) : at;
}

static void by_stack(struct tree *tree, const struct mt_life *life, enum mt_who_by by,
                     bool is_folded)
{
    uint32_t frames[FRAMES_MAX], at = 1;
    char place[MT_LIFE_TEXT];
    /* backward's memory belongs to the line of the forward operation */
    uint32_t stack = life->forward_stack ? life->forward_stack : life->stack;
    size_t n = frames_of(tree, stack, by == MT_WHO_NATIVE, is_folded, frames);
    if (life->node_name && by == MT_WHO_CALLERS) {
        short_name(tree, life->node_name, place);
        at = descend(tree, at, place, "backward", life);
    }
    for (size_t i = 0; i < n; i++) {
        at = frame_child(tree, at, frames[by == MT_WHO_CALLERS ? n - 1 - i : i]);
        count(tree, at, life);
    }
    if (!n)
        at = descend(tree, at, "stack unknown", "", life);
    if (n && is_folded && by == MT_WHO_PYTHON)
        at = end_at(tree, at, life, by_module_path);
    if (life->node_name && by != MT_WHO_CALLERS) {
        short_name(tree, life->node_name, place);
        descend(tree, at, place, "backward", life);
    }
}

static void by_module(struct tree *tree, const struct mt_life *life)
{
    uint32_t at = by_module_path(tree, 1, life);
    if (at == 1)
        at = descend(tree, at, "module unknown", "", life);
    at = descend(tree, at, mt_categories[life->category].label, "category", life);
    end_at(tree, at, life, by_own_line);
}

static void by_line(struct tree *tree, const struct mt_life *life, enum mt_who_by by)
{
    char what[MT_LIFE_TEXT];
    if (by == MT_WHO_OPERATOR)
        mt_life_operator(definitions(tree), life, what);
    else
        snprintf(what, sizeof what, "%s", mt_categories[life->category].label);
    by_own_line(tree, descend(tree, 1, what, "", life), life);
}

static void add_life(struct tree *tree, const struct mt_life *life,
                     const struct mt_who_question *question)
{
    enum mt_who_by by = question->by;
    count(tree, 1, life);
    switch (by) {
    case MT_WHO_MODULE:
        by_module(tree, life);
        return;
    case MT_WHO_OPERATOR:
    case MT_WHO_LINE:
        by_line(tree, life, by);
        return;
    default:
        by_stack(tree, life, by, question->is_folded);
    }
}

void mt_who_each(const struct mt_lives *lives, const struct mt_who_question *question,
                 void (*take)(void *data, const struct mt_life *life), void *data)
{
    const struct mt_course *course = &lives->course[question->slot];
    uint32_t first = mt_first_after(course, question->at);
    for (size_t i = question->since; i <= question->at && i < course->n; i++) {
        if (!mt_begins_after(course, i, first))
            continue;
        const struct mt_life *life = mt_life_at(lives, course, i);
        if ((question->category < 0 || life->category == question->category) &&
            (!question->is_found || life->is_found))
            take(data, life);
    }
}

static uint64_t bytes_of(const struct node *node, int category)
{
    uint64_t sum = 0;
    for (unsigned sure = 0; sure < MT_CERTAINTIES; sure++)
        sum += node->category[category][sure];
    return sum;
}

static int main_category(const struct node *node)
{
    int most = 0;
    for (int c = 1; c < (int)MT_CATEGORY_COUNT; c++)
        if (bytes_of(node, c) > bytes_of(node, most))
            most = c;
    return most;
}

static json_t *node_json(const char *name, const char *place, const struct node *node,
                         json_t *children)
{
    int category = main_category(node);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:i, s:s, s:o}", "name", name, "place", place,
                     "bytes", (json_int_t)node->bytes, "blocks", (json_int_t)node->blocks, "found",
                     (json_int_t)node->found, "category", category, "certainty",
                     mt_certainty_name(mt_least_certain(node->category[category])), "children",
                     children);
}

static int larger(const void *a, const void *b, void *data)
{
    const struct tree *tree = data;
    uint64_t x = tree->node[*(const uint32_t *)a].bytes, y = tree->node[*(const uint32_t *)b].bytes;
    return (x < y) - (x > y);
}

static json_t *to_json(const struct tree *tree, uint32_t at, uint64_t least);

static json_t *children_json(const struct tree *tree, const struct node *node, uint64_t least)
{
    json_t *array = json_array();
    uint32_t *list = NULL;
    size_t n = 0, capacity = 0;
    struct node others = {0};
    for (uint32_t i = node->first; i; i = tree->node[i].next) {
        if (tree->node[i].bytes >= least && !MT_GROW(list, capacity, n)) {
            list[n++] = i;
            continue;
        }
        others.bytes += tree->node[i].bytes;
        others.blocks += tree->node[i].blocks;
        others.found += tree->node[i].found;
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            for (unsigned sure = 0; sure < MT_CERTAINTIES; sure++)
                others.category[c][sure] += tree->node[i].category[c][sure];
    }
    if (n)
        qsort_r(list, n, sizeof *list, larger, (void *)tree);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, to_json(tree, list[i], least));
    if (others.bytes)
        json_array_append_new(array, node_json("others", "", &others, json_array()));
    free(list);
    return array;
}

/* Convert a tree. Recursion is as deep as a stack, whose depth is bounded. */
static json_t *to_json(const struct tree *tree, uint32_t at, uint64_t least)
{
    const struct node *node = &tree->node[at];
    return node_json(tree->texts.text[node->name], tree->texts.text[node->place], node,
                     children_json(tree, node, least));
}

struct growing {
    struct tree *tree;
    const struct mt_who_question *question;
};

static void take(void *data, const struct mt_life *life)
{
    struct growing *growing = data;
    add_life(growing->tree, life, growing->question);
}

static void clear(struct tree *tree)
{
    mt_texts_clear(&tree->texts);
    free(tree->node);
    mt_address_map_clear(&tree->by_key);
    mt_address_map_clear(&tree->by_frame);
}

/* Open the nodes at which too many bytes end, and empty all if there are any. Return whether there
 * are. */
static bool open_wide(struct tree *tree)
{
    uint64_t most = tree->node[1].bytes / 100 * MT_WHO_WIDE;
    size_t wide = 1;
    while (wide < tree->n && tree->node[wide].ends <= most)
        wide++;
    for (size_t i = 1; i < tree->n && wide < tree->n; i++) {
        const struct node was = tree->node[i];
        tree->node[i] = (struct node){.name = was.name,
                                      .place = was.place,
                                      .first = was.first,
                                      .next = was.next,
                                      .is_open = was.ends > most};
    }
    return wide < tree->n;
}

json_t *mt_who(const struct mt_lives *lives, const struct mt_replay *replay,
               const struct mt_who_question *question)
{
    struct tree tree = {.replay = replay, .n = 1};
    struct growing growing = {&tree, question};
    if (mt_grow(&tree.node, &tree.capacity, 2, sizeof *tree.node))
        return NULL;
    child(&tree, 0, "all", "");
    mt_who_each(lives, question, take, &growing);
    if (!tree.has_no_memory && open_wide(&tree))
        mt_who_each(lives, question, take, &growing);
    json_t *result = tree.has_no_memory ? NULL : to_json(&tree, 1, tree.node[1].bytes / 1000);
    clear(&tree);
    return result;
}

static void count_in_all(void *data, const struct mt_life *life)
{
    count(data, 0, life);
}

json_t *mt_who_certainties(const struct mt_lives *lives, const struct mt_replay *replay,
                           const struct mt_who_question *question)
{
    struct node all = {0};
    json_t *array = json_array();
    mt_who_each(lives, question, count_in_all, &(struct tree){.replay = replay, .node = &all});
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        json_array_append_new(array,
                              json_string(mt_certainty_name(mt_least_certain(all.category[c]))));
    return array;
}
