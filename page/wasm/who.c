/* SPDX-License-Identifier: Apache-2.0 */
#include "who.h"
#include "analyzer/classify/classify.h"
#include "analyzer/print/json.h"
#include "analyzer/query/texts.h"
#include "analyzer/query/tree.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/grow.h"
#include "course.h"
#include "life-facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 1024u

/* What a box of the tree is called. */
struct label {
    uint32_t name, place; /* texts */
};

/* What a box has beside its bytes. */
struct facts {
    uint64_t found; /* bytes */
    uint64_t ends;  /* bytes of stacks that end here */
    bool is_open;   /* shows more below: open_wide */
    uint64_t category[MT_CATEGORY_COUNT][MT_CERTAINTIES];
};

struct who {
    const struct mt_replay *replay;
    const struct mt_who_question *question;
    struct mt_tree tree; /* whose keys are labels */
    struct facts *facts; /* by node */
    struct label *label; /* from 1 */
    size_t n_labels, labels_capacity, facts_capacity;
    struct mt_texts texts;
    struct mt_address_map by_texts, by_frame; /* labels */
    bool has_no_memory;
};

static const struct mt_definitions *definitions(const struct who *who)
{
    return who->replay->definitions;
}

/* Return the label of a name and a place; 0: no memory. */
static uint32_t label(struct who *who, const char *name, const char *place)
{
    struct label made = {0};
    uint32_t number = 0;
    if (!mt_texts_add(&who->texts, name, &made.name) &&
        !mt_texts_add(&who->texts, place, &made.place))
        number = MT_PLACE_OF(&who->by_texts, (uint64_t)made.name << 32 | made.place, who->label,
                             who->labels_capacity, who->n_labels);
    if (number)
        who->label[number - 1] = made;
    who->has_no_memory |= !number;
    return number;
}

/* Return the label of a frame, whose texts are made once. */
static uint32_t frame_label(struct who *who, uint32_t number)
{
    char place[MT_LIFE_TEXT];
    uint32_t known = mt_address_map_get(&who->by_frame, number);
    if (known)
        return known;
    const struct mt_frame *frame = mt_frame(definitions(who), number);
    mt_frame_place(place, frame);
    known = label(who, frame->function, place);
    who->has_no_memory |= !known || mt_address_map_put(&who->by_frame, number, known);
    return known;
}

static enum mt_certainty certainty_of(const struct mt_replay *replay, const struct mt_life *life)
{
    return mt_certainty_of(mt_rule_at(replay->question.rules, life->rule));
}

static void count_facts(struct facts *facts, const struct mt_replay *replay,
                        const struct mt_life *life)
{
    facts->found += life->is_found ? life->size : 0;
    facts->category[life->category][certainty_of(replay, life)] += life->size;
}

static void count(struct who *who, uint32_t at, const struct mt_life *life)
{
    mt_tree_count(&who->tree, at, life->size, 1);
    if (MT_GROW(who->facts, who->facts_capacity, at))
        who->has_no_memory = true;
    else
        count_facts(&who->facts[at], who->replay, life);
}

static uint32_t descend_to(struct who *who, uint32_t at, uint32_t number,
                           const struct mt_life *life)
{
    at = mt_tree_child(&who->tree, at, number, number);
    count(who, at, life);
    return at;
}

static uint32_t descend(struct who *who, uint32_t at, const char *name, const char *place,
                        const struct mt_life *life)
{
    return descend_to(who, at, label(who, name, place), life);
}

static void short_name(const struct who *who, uint32_t node_name, char out[MT_LIFE_TEXT])
{
    mt_short_type_name(mt_string(definitions(who), node_name), out, MT_LIFE_TEXT);
}

static uint32_t by_module_path(struct who *who, uint32_t at, const struct mt_life *life)
{
    char path[MT_LIFE_TEXT];
    snprintf(path, sizeof path, "%s", mt_stack_module(definitions(who), life->module));
    char *rest = *path ? path : NULL;
    const char *place =
        at == MT_TREE_ROOT ? "" : "module"; /* which is plain where all are modules */
    for (char *name; (name = strsep(&rest, "."));)
        at = descend(who, at, name, place, life);
    return at;
}

static uint32_t by_own_line(struct who *who, uint32_t at, const struct mt_life *life)
{
    char line[MT_LIFE_TEXT];
    mt_life_line(definitions(who), life, line);
    return descend(who, at, line, "", life);
}

/* End a life's path, or continue it below an open node. Return its last node. */
static uint32_t end_at(struct who *who, uint32_t at, const struct mt_life *life,
                       uint32_t (*more)(struct who *, uint32_t, const struct mt_life *))
{
    if (who->has_no_memory)
        return at;
    who->facts[at].ends += life->size;
    return who->facts[at].is_open ? more(who, at, life) : at;
}

/* Return which frames of a stack the question shows. */
static enum mt_path_frames frames_of(const struct who *who, uint32_t stack)
{
    if (who->question->is_folded && mt_stack(definitions(who), stack)->user)
        return MT_PATH_OWN;
    return who->question->by == MT_WHO_NATIVE ? MT_PATH_ALL : MT_PATH_PYTHON;
}

static void by_stack(struct who *who, const struct mt_life *life)
{
    const struct mt_definitions *d = definitions(who);
    enum mt_who_by by = who->question->by;
    uint32_t path[FRAMES_MAX], at = MT_TREE_ROOT;
    char name[MT_LIFE_TEXT];
    /* backward's memory belongs to the line of the forward operation */
    uint32_t stack = life->forward_stack ? life->forward_stack : life->stack;
    size_t n = mt_path(d, stack, frames_of(who, stack), path, FRAMES_MAX);
    if (life->node_name && by == MT_WHO_CALLERS) {
        short_name(who, life->node_name, name);
        at = descend(who, at, name, "backward", life);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t shown = path[by == MT_WHO_CALLERS ? i : n - 1 - i];
        at = descend_to(who, at, frame_label(who, mt_stack(d, shown)->frame), life);
    }
    if (!n)
        at = descend(who, at, "stack unknown", "", life);
    if (n && who->question->is_folded && by == MT_WHO_PYTHON)
        at = end_at(who, at, life, by_module_path);
    if (life->node_name && by != MT_WHO_CALLERS) {
        short_name(who, life->node_name, name);
        descend(who, at, name, "backward", life);
    }
}

static void by_module(struct who *who, const struct mt_life *life)
{
    uint32_t at = by_module_path(who, MT_TREE_ROOT, life);
    if (at == MT_TREE_ROOT)
        at = descend(who, at, "module unknown", "", life);
    at = descend(who, at, mt_categories[life->category].label, "category", life);
    end_at(who, at, life, by_own_line);
}

static void by_line(struct who *who, const struct mt_life *life, enum mt_who_by by)
{
    char what[MT_LIFE_TEXT];
    if (by == MT_WHO_OPERATOR)
        mt_life_operator(definitions(who), life, what);
    else
        snprintf(what, sizeof what, "%s", mt_categories[life->category].label);
    by_own_line(who, descend(who, MT_TREE_ROOT, what, "", life), life);
}

static void add_life(void *data, const struct mt_life *life)
{
    struct who *who = data;
    enum mt_who_by by = who->question->by;
    count(who, MT_TREE_ROOT, life);
    switch (by) {
    case MT_WHO_MODULE:
        by_module(who, life);
        return;
    case MT_WHO_OPERATOR:
    case MT_WHO_LINE:
        by_line(who, life, by);
        return;
    default:
        by_stack(who, life);
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
            (!question->is_found || life->is_found) &&
            (!question->idle ||
             !mt_is_unneeded(question->idle, course->what[i] >> 1, question->at)))
            take(data, life);
    }
}

static uint64_t bytes_of(const struct facts *facts, int category)
{
    uint64_t sum = 0;
    for (unsigned sure = 0; sure < MT_CERTAINTIES; sure++)
        sum += facts->category[category][sure];
    return sum;
}

static int main_category(const struct facts *facts)
{
    int most = 0;
    for (int c = 1; c < (int)MT_CATEGORY_COUNT; c++)
        if (bytes_of(facts, c) > bytes_of(facts, most))
            most = c;
    return most;
}

static json_t *node_json(const char *name, const char *place, const struct mt_tree_node *node,
                         const struct facts *facts, json_t *children)
{
    int category = main_category(facts);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:i, s:s, s:o}", "name", name, "place", place,
                     "bytes", (json_int_t)node->bytes, "blocks", (json_int_t)node->blocks, "found",
                     (json_int_t)facts->found, "category", category, "certainty",
                     mt_certainty_name(mt_least_certain(facts->category[category])), "children",
                     children);
}

/* Join the children that have less than these bytes. NULL: there are none. */
static json_t *others_json(const struct who *who, uint32_t at, uint64_t least)
{
    struct mt_tree_node all = {0};
    struct facts facts = {0};
    for (uint32_t i = who->tree.node[at].first; i; i = who->tree.node[i].next) {
        const struct mt_tree_node *node = &who->tree.node[i];
        if (node->bytes >= least)
            continue;
        all.bytes += node->bytes;
        all.blocks += node->blocks;
        facts.found += who->facts[i].found;
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            for (unsigned sure = 0; sure < MT_CERTAINTIES; sure++)
                facts.category[c][sure] += who->facts[i].category[c][sure];
    }
    return all.bytes ? node_json("others", "", &all, &facts, json_array()) : NULL;
}

/* Convert a tree. Recursion is as deep as a stack, whose depth is bounded. */
static json_t *to_json(const struct who *who, uint32_t at, uint64_t least)
{
    json_t *array = json_array();
    size_t n;
    uint32_t *children = mt_tree_children(&who->tree, at, least, &n);
    for (size_t i = 0; i < n && children; i++)
        json_array_append_new(array, to_json(who, children[i], least));
    free(children);
    json_t *others = others_json(who, at, least);
    if (others)
        json_array_append_new(array, others);
    const struct mt_tree_node *node = &who->tree.node[at];
    const struct label *named = node->value ? &who->label[node->value - 1] : NULL;
    return node_json(named ? who->texts.text[named->name] : "all",
                     named ? who->texts.text[named->place] : "", node, &who->facts[at], array);
}

static void clear(struct who *who)
{
    mt_texts_clear(&who->texts);
    mt_tree_clear(&who->tree);
    free(who->facts);
    free(who->label);
    mt_address_map_clear(&who->by_texts);
    mt_address_map_clear(&who->by_frame);
}

static bool lacks_memory(const struct who *who)
{
    return who->has_no_memory || who->tree.has_no_memory;
}

/* Open the boxes at which too many bytes end, and empty all if there are any. Return whether there
 * are. */
static bool open_wide(struct who *who)
{
    uint64_t most = who->tree.node[MT_TREE_ROOT].bytes / 100 * MT_WHO_WIDE;
    bool is_wide = false;
    for (size_t i = 0; i < who->tree.n; i++)
        is_wide |= who->facts[i].ends > most;
    for (size_t i = 0; i < who->tree.n && is_wide; i++) {
        who->facts[i] = (struct facts){.is_open = who->facts[i].ends > most};
        who->tree.node[i].bytes = who->tree.node[i].blocks = 0;
    }
    return is_wide;
}

json_t *mt_who(const struct mt_lives *lives, const struct mt_replay *replay,
               const struct mt_who_question *question)
{
    struct who who = {.replay = replay, .question = question};
    json_t *result = NULL;
    mt_tree_count(&who.tree, MT_TREE_ROOT, 0, 0); /* there, also without blocks */
    who.has_no_memory = MT_GROW(who.facts, who.facts_capacity, MT_TREE_ROOT) != 0;
    mt_who_each(lives, question, add_life, &who);
    if (!lacks_memory(&who) && open_wide(&who))
        mt_who_each(lives, question, add_life, &who);
    if (!lacks_memory(&who))
        result = to_json(&who, MT_TREE_ROOT, who.tree.node[MT_TREE_ROOT].bytes / 1000);
    clear(&who);
    return result;
}

static void count_in_all(void *data, const struct mt_life *life)
{
    struct who *who = data;
    count_facts(who->facts, who->replay, life);
}

json_t *mt_who_certainties(const struct mt_lives *lives, const struct mt_replay *replay,
                           const struct mt_who_question *question)
{
    struct facts all = {0};
    json_t *array = json_array();
    mt_who_each(lives, question, count_in_all, &(struct who){.replay = replay, .facts = &all});
    for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
        json_array_append_new(array,
                              json_string(mt_certainty_name(mt_least_certain(all.category[c]))));
    return array;
}
