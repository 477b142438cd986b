/* SPDX-License-Identifier: Apache-2.0 */
#include "who.h"
#include "analyzer/classify/classify.h"
#include "analyzer/print/json.h"
#include "analyzer/query/tree.h"
#include "analyzer/support/grow.h"
#include "course.h"
#include "life-facts.h"

#include <stdio.h>
#include <stdlib.h>

#define LEVELS 2u

/* The levels of each tree: those that all paths have; those below a wide box (open_wide); and those
 * that end a path. MT_BY_SITE ends a list. */
static const struct {
    struct mt_tree_level all[LEVELS], wide[LEVELS], last[LEVELS];
} levels[MT_WHO_COUNT] = {
#define BACKWARD {.by = MT_BY_OPERATOR, .is_optional = true}
#define FRAMES(order) {.by = MT_BY_BLAMED, .as = order, .most = MT_LEVEL_MOST}
    [MT_WHO_PYTHON] = {.all = {FRAMES(MT_LEVEL_CALLERS)},
                       .wide = {{MT_BY_MODULE, MT_LEVEL_PARTS, true}},
                       .last = {BACKWARD}},
    [MT_WHO_NATIVE] = {.all = {FRAMES(MT_LEVEL_CALLERS)}, .last = {BACKWARD}},
    [MT_WHO_CALLERS] = {.all = {BACKWARD, FRAMES(MT_LEVEL_INNERMOST)}},
    [MT_WHO_MODULE] = {.all = {{MT_BY_MODULE, MT_LEVEL_PARTS}, {MT_BY_CATEGORY}},
                       .wide = {{MT_BY_LINE}}},
    [MT_WHO_OPERATOR] = {.all = {{MT_BY_OPERATION}, {MT_BY_LINE}}},
    [MT_WHO_LINE] = {.all = {{MT_BY_CATEGORY}, {MT_BY_LINE}}},
#undef BACKWARD
#undef FRAMES
};

/* What a box has beside its bytes. */
struct facts {
    uint64_t found; /* bytes */
    uint64_t ends;  /* bytes of lives whose first levels end here */
    bool is_open;   /* shows more below: open_wide */
    uint64_t category[MT_CATEGORY_COUNT][MT_CERTAINTIES];
};

struct who {
    const struct mt_replay *replay;
    const struct mt_naming *naming;
    const struct mt_who_question *question;
    struct mt_tree tree;
    struct facts *facts; /* by node */
    size_t facts_capacity;
    bool has_no_memory;
};

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

/* Return which frames of a stack the question shows. */
static enum mt_path_frames frames_of(const struct who *who, uint32_t stack)
{
    if (who->question->is_folded && mt_stack(who->replay->definitions, stack)->user)
        return MT_PATH_OWN;
    return who->question->by == MT_WHO_NATIVE ? MT_PATH_ALL : MT_PATH_PYTHON;
}

/* Go down by a line, with the program's name for the block. */
static uint32_t descend_to_line(struct who *who, uint32_t at, const struct mt_life *life)
{
    char line[MT_LIFE_TEXT];
    mt_life_line(who->replay->definitions, life, line);
    return mt_tree_text(&who->tree, at, MT_BY_LINE, line);
}

/* Go down by some levels. */
static uint32_t descend(struct who *who, uint32_t at, const struct mt_tree_level list[LEVELS],
                        const struct mt_life *life, const struct mt_verdict *verdict)
{
    for (unsigned i = 0; i < LEVELS && list[i].by != MT_BY_SITE; i++) {
        struct mt_tree_level level = list[i];
        uint32_t number = mt_property(who->naming, level.by, verdict);
        if (level.by == MT_BY_BLAMED)
            level.frames = frames_of(who, number);
        at = level.by == MT_BY_LINE ? descend_to_line(who, at, life)
                                    : mt_tree_descend(&who->tree, at, &level, who->naming, number);
    }
    return at;
}

static void add_life(void *data, const struct mt_life *life)
{
    struct who *who = data;
    enum mt_who_by by = who->question->by;
    struct mt_life_verdict room;
    const struct mt_verdict *verdict = mt_life_verdict(&room, who->replay, life);
    uint32_t at = descend(who, MT_TREE_ROOT, levels[by].all, life, verdict);
    if (MT_GROW(who->facts, who->facts_capacity, at)) {
        who->has_no_memory = true;
        return;
    }
    bool may_open = by == MT_WHO_MODULE || (by == MT_WHO_PYTHON && who->question->is_folded &&
                                            who->tree.node[at].by != MT_BY_STACK);
    who->facts[at].ends += may_open ? life->size : 0;
    if (who->facts[at].is_open)
        at = descend(who, at, levels[by].wide, life, verdict);
    at = descend(who, at, levels[by].last, life, verdict);
    mt_tree_count(&who->tree, at, life->size, 1);
    if (MT_GROW(who->facts, who->facts_capacity, who->tree.n)) {
        who->has_no_memory = true;
        return;
    }
    for (;; at = who->tree.node[at].parent) {
        count_facts(&who->facts[at], who->replay, life);
        if (at == MT_TREE_ROOT)
            return;
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
    return json_pack(
        "{s:o, s:o, s:I, s:I, s:I, s:i, s:s, s:o}", "name", mt_json_text(name), "place",
        mt_json_text(place), "bytes", (json_int_t)node->bytes, "blocks", (json_int_t)node->blocks,
        "found", (json_int_t)facts->found, "category", category, "certainty",
        mt_certainty_name(mt_least_certain(facts->category[category])), "children", children);
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

/* Return what a box that is no frame says beside its name: its kind, where others are around it. */
static const char *kind_of(const struct who *who, const struct mt_tree_node *node)
{
    bool is_of_modules = who->question->by == MT_WHO_MODULE;
    switch (node->by) {
    case MT_BY_OPERATOR:
        return "backward";
    case MT_BY_MODULE:
        return is_of_modules ? "" : "module";
    case MT_BY_CATEGORY:
        return is_of_modules ? "category" : "";
    default:
        return "";
    }
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
    if (at == MT_TREE_ROOT || node->by != MT_BY_BLAMED)
        return node_json(at == MT_TREE_ROOT ? "all" : who->tree.texts.text[node->value],
                         at == MT_TREE_ROOT ? "" : kind_of(who, node), node, &who->facts[at],
                         array);
    char place[MT_LIFE_TEXT];
    const struct mt_frame *frame = mt_stack_frame(who->replay->definitions, node->value);
    mt_frame_place(place, frame);
    return node_json(frame->function, place, node, &who->facts[at], array);
}

static void clear(struct who *who)
{
    mt_tree_clear(&who->tree);
    free(who->facts);
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
    const struct mt_naming naming = mt_replay_naming(replay);
    struct who who = {.replay = replay, .naming = &naming, .question = question};
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
