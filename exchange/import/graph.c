/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"
#include "analyzer/support/grow.h"

#include <stdarg.h>
#include <stdio.h>

/* Limits that no snapshot reaches but an attack would. */
#define MOST_MEMO (40u << 20)
#define MOST_CELLS (16u << 20)
#define MOST_OBJECTS (4u << 20)
#define MOST_TEXT_BYTES (96u << 20)
#define MEMO_AHEAD 65536u
#define FREE_DEPTH 8
#define MEMO_PIECE 65536u

void mt_graph_clear(struct mt_graph *graph)
{
    for (size_t i = 0; i < graph->n_objects; i++)
        free(graph->object[i].items);
    mt_texts_clear(&graph->texts);
    free(graph->stack);
    free(graph->object);
    free(graph->free_objects);
    for (size_t i = 0; i < graph->memo_capacity; i++)
        free(graph->memo[i]);
    free(graph->memo);
    free(graph->scratch);
    memset(graph, 0, sizeof *graph);
}

int mt_graph_fail(struct mt_graph *graph, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(graph->error, sizeof graph->error, format, list);
    va_end(list);
    return -EBADMSG;
}

int mt_graph_push(struct mt_graph *graph, mt_cell cell)
{
    if (graph->n >= MOST_CELLS)
        return mt_graph_fail(graph, "nested too deeply, or a list is too long");
    int rc = MT_GROW(graph->stack, graph->capacity, graph->n);
    if (!rc)
        graph->stack[graph->n++] = cell;
    return rc;
}

int mt_graph_push_number(struct mt_graph *graph, int64_t value)
{
    if (value >> 59 != 0 && value >> 59 != -1)
        return mt_graph_push(graph, mt_cell_make(MT_CELL_KILO, value / 1000));
    return mt_graph_push(graph, mt_cell_make(MT_CELL_NUMBER, value));
}

int mt_graph_push_text(struct mt_graph *graph, const char *text, size_t size)
{
    uint32_t index;
    size_t before = graph->texts.n;
    int rc = mt_grow(&graph->scratch, &graph->scratch_capacity, size + 1, 1);
    if (rc)
        return rc;
    for (size_t i = 0; i < size; i++)
        graph->scratch[i] = (char)(text[i] ? text[i] : ' ');
    graph->scratch[size] = 0;
    rc = mt_texts_add(&graph->texts, graph->scratch, &index);
    if (rc)
        return rc;
    if (graph->texts.n > before && (graph->text_bytes += size + 64) > MOST_TEXT_BYTES)
        return mt_graph_fail(graph, "more than %u MiB of distinct texts", MOST_TEXT_BYTES >> 20);
    return mt_graph_push(graph, mt_cell_make(MT_CELL_TEXT, index));
}

int mt_graph_push_new(struct mt_graph *graph, enum mt_cell_tag tag)
{
    uint32_t index;
    if (graph->n_free) {
        index = graph->free_objects[--graph->n_free];
    } else {
        if (graph->n_objects >= MOST_OBJECTS)
            return mt_graph_fail(graph, "more lists and dictionaries than a snapshot has");
        if (MT_GROW(graph->object, graph->objects_capacity, graph->n_objects))
            return -ENOMEM;
        index = (uint32_t)graph->n_objects++;
    }
    graph->object[index] = (struct mt_object){.tag = (uint8_t)tag};
    return mt_graph_push(graph, mt_cell_make(tag, index));
}

/* Return the place of a memoized value. */
static mt_cell *memo_at(const struct mt_graph *graph, size_t place)
{
    return &graph->memo[place / MEMO_PIECE][place % MEMO_PIECE];
}

mt_cell mt_graph_follow(const struct mt_graph *graph, mt_cell cell)
{
    return mt_cell_tag(cell) == MT_CELL_SHARED ? *memo_at(graph, (size_t)mt_cell_value(cell))
                                               : cell;
}

static struct mt_object *object_of(struct mt_graph *graph, mt_cell cell, enum mt_cell_tag tag)
{
    cell = mt_graph_follow(graph, cell);
    uint64_t index = (uint64_t)mt_cell_value(cell);
    if (mt_cell_tag(cell) != tag || index >= graph->n_objects || graph->object[index].tag != tag)
        return NULL;
    return &graph->object[index];
}

const char *mt_graph_text(const struct mt_graph *graph, mt_cell cell)
{
    uint64_t index = (uint64_t)mt_cell_value(cell);
    return mt_cell_tag(cell) == MT_CELL_TEXT && index < graph->texts.n ? graph->texts.text[index]
                                                                       : "";
}

struct mt_object *mt_graph_list(struct mt_graph *graph, mt_cell cell)
{
    return object_of(graph, cell, MT_CELL_LIST);
}

/* Free the object, with its contents, for reuse, unless something can still refer to it. */
static void give_up(struct mt_graph *graph, mt_cell cell, int depth)
{
    cell = mt_graph_follow(graph, cell);
    enum mt_cell_tag tag = mt_cell_tag(cell);
    struct mt_object *object =
        tag == MT_CELL_LIST || tag == MT_CELL_DICT ? object_of(graph, cell, tag) : NULL;
    if (!object || MT_GROW(graph->free_objects, graph->free_capacity, graph->n_free))
        return;
    mt_cell *items = object->items;
    size_t n = object->n;
    graph->n_items -= n;
    *object = (struct mt_object){0};
    graph->free_objects[graph->n_free++] = (uint32_t)mt_cell_value(cell);
    for (size_t i = 0; i < n && depth; i++) {
        enum mt_cell_tag inner = mt_cell_tag(items[i]);
        struct mt_object *part = inner == MT_CELL_LIST || inner == MT_CELL_DICT
                                     ? object_of(graph, items[i], inner)
                                     : NULL;
        if (part && !part->memo)
            give_up(graph, items[i], depth - 1);
    }
    free(items);
}

void mt_graph_replace(struct mt_graph *graph, mt_cell cell, mt_cell made)
{
    mt_cell was = mt_graph_follow(graph, cell);
    struct mt_object *object = object_of(graph, was, mt_cell_tag(was));
    if (!object)
        return;
    if (object->memo)
        *memo_at(graph, object->memo - 1) = made;
    give_up(graph, was, FREE_DEPTH);
}

static int add_item(struct mt_graph *graph, struct mt_object *object, mt_cell cell)
{
    if (graph->n_items >= MOST_CELLS)
        return mt_graph_fail(graph, "more values than a snapshot has");
    int rc = MT_GROW(object->items, object->capacity, object->n);
    if (rc)
        return rc;
    object->items[object->n++] = cell;
    graph->n_items++;
    return 0;
}

static int add_to_list(struct mt_graph *graph, struct mt_object *list, mt_cell cell)
{
    mt_cell now = mt_graph_follow(graph, cell);
    if (mt_cell_tag(now) != MT_CELL_LIST && mt_cell_tag(now) != MT_CELL_DICT)
        cell = now;
    unsigned kind = mt_record_kind(cell);
    if (mt_cell_tag(cell) == MT_CELL_GONE)
        return 0;
    if (kind && !list->n &&
        (!list->kind ||
         (list->kind == kind && mt_record_number(cell) == list->first + list->count))) {
        if (!list->kind)
            list->first = mt_record_number(cell);
        list->kind = (uint8_t)kind;
        list->count++;
        return 0;
    }
    return add_item(graph, list, cell);
}

/* Find the first of the values that an opcode applies to: those above the last mark, or the last
 * n. */
static int find_values(struct mt_graph *graph, bool above_mark, size_t n, size_t *first)
{
    size_t at = graph->n;
    if (above_mark)
        while (at && mt_cell_tag(graph->stack[at - 1]) != MT_CELL_MARK)
            at--;
    else
        at = at >= n ? at - n : 0;
    if (above_mark ? !at : graph->n < n)
        return mt_graph_fail(graph, "invalid pickle: the stack is empty");
    *first = at;
    return 0;
}

int mt_graph_append(struct mt_graph *graph, bool above_mark)
{
    size_t first;
    int rc = find_values(graph, above_mark, 1, &first);
    size_t below = first - above_mark; /* of what the values go into, + 1 */
    if (rc)
        return rc;
    for (size_t i = first; i < graph->n && !rc; i++) {
        struct mt_object *list =
            below ? object_of(graph, graph->stack[below - 1], MT_CELL_LIST) : NULL;
        if (!list)
            return !below ? mt_graph_fail(graph, "invalid pickle: the stack is empty")
                   : mt_cell_tag(mt_graph_follow(graph, graph->stack[below - 1])) < MT_CELL_RECORD
                       ? mt_graph_fail(graph,
                                       "invalid pickle: append to a value that is not a list")
                       : mt_graph_fail(graph,
                                       "invalid pickle: append to a list that is already in use");
        rc = add_to_list(graph, list, graph->stack[i]);
    }
    graph->n = below;
    return rc;
}

/* Pass a dictionary on. The result replaces it on the stack and in the memo. */
static int take_dict(struct mt_graph *graph, size_t at)
{
    mt_cell dict = graph->stack[at], made = 0;
    struct mt_object *object = object_of(graph, dict, MT_CELL_DICT);
    if (!object)
        return mt_graph_fail(graph, "invalid pickle: items for a value that is not a dictionary");
    int rc = graph->take(graph->data, graph, object->items, object->n, &made);
    if (rc)
        return rc;
    graph->stack[at] = made;
    mt_graph_replace(graph, dict, made);
    return 0;
}

int mt_graph_set(struct mt_graph *graph, bool above_mark)
{
    size_t first;
    int rc = find_values(graph, above_mark, 2, &first);
    size_t below = first - above_mark;
    if (rc)
        return rc;
    if (!below || (graph->n - first) % 2)
        return mt_graph_fail(graph, "invalid pickle: items for a value that is not a dictionary");
    if (mt_cell_tag(mt_graph_follow(graph, graph->stack[below - 1])) ==
        MT_CELL_GONE) { /* the rest of a large one */
        graph->n = below;
        return 0;
    }
    for (size_t i = first; i < graph->n && !rc; i++) {
        struct mt_object *dict = object_of(graph, graph->stack[below - 1], MT_CELL_DICT);
        if (!dict)
            return mt_graph_fail(
                graph, "invalid pickle: items for a value that is not an open dictionary");
        rc = add_item(graph, dict, graph->stack[i]);
    }
    graph->n = below;
    return rc ? rc : take_dict(graph, below - 1);
}

static bool is_plain(mt_cell cell)
{
    return mt_cell_tag(cell) <= MT_CELL_TEXT || mt_cell_tag(cell) == MT_CELL_KILO;
}

/* Return a pair, which pools use as ids. */
static mt_cell pair_of(const mt_cell *values)
{
    int64_t part[2];
    for (int i = 0; i < 2; i++) {
        part[i] = mt_cell_value(values[i]);
        if (mt_cell_tag(values[i]) != MT_CELL_NUMBER || part[i] < 0 || part[i] >> 28)
            return 0;
    }
    return mt_cell_make(MT_CELL_PAIR, part[0] << 28 | part[1]);
}

/* Create a tuple. Tuples are lists; of those with plain values, only pairs are kept. */
static int make_tuple(struct mt_graph *graph, size_t first, size_t below)
{
    size_t n = graph->n - first;
    bool all_plain = true;
    for (size_t i = first; i < graph->n; i++)
        all_plain &= is_plain(graph->stack[i]);
    mt_cell tuple = all_plain && n == 2 ? pair_of(&graph->stack[first]) : 0;
    int rc = 0;
    if (!all_plain) {
        rc = mt_graph_push_new(graph, MT_CELL_LIST);
        if (rc)
            return rc;
        tuple = graph->stack[--graph->n];
        for (size_t i = first; i < first + n && !rc; i++)
            rc = add_to_list(graph, object_of(graph, tuple, MT_CELL_LIST), graph->stack[i]);
    }
    graph->n = below;
    return rc ? rc : mt_graph_push(graph, tuple);
}

int mt_graph_tuple(struct mt_graph *graph, size_t n)
{
    size_t first;
    int rc = find_values(graph, false, n, &first);
    return rc ? rc : make_tuple(graph, first, first);
}

int mt_graph_tuple_above_mark(struct mt_graph *graph)
{
    size_t first;
    int rc = find_values(graph, true, 0, &first);
    return rc ? rc : make_tuple(graph, first, first - 1);
}

int mt_graph_pop(struct mt_graph *graph)
{
    if (!graph->n)
        return mt_graph_fail(graph, "invalid pickle: the stack is empty");
    graph->n--;
    return 0;
}

int mt_graph_pop_mark(struct mt_graph *graph)
{
    size_t first;
    int rc = find_values(graph, true, 0, &first);
    if (!rc)
        graph->n = first - 1;
    return rc;
}

int mt_graph_put(struct mt_graph *graph, size_t place)
{
    if (!graph->n || mt_cell_tag(graph->stack[graph->n - 1]) == MT_CELL_MARK)
        return mt_graph_fail(graph, "invalid pickle: memo of a missing value");
    if (place >= MOST_MEMO || place > graph->n_memo + MEMO_AHEAD)
        return mt_graph_fail(graph, "more memoized values than a snapshot has");
    if (MT_GROW(graph->memo, graph->memo_capacity, place / MEMO_PIECE))
        return -ENOMEM;
    mt_cell **piece = &graph->memo[place / MEMO_PIECE];
    if (!*piece && !(*piece = calloc(MEMO_PIECE, sizeof **piece)))
        return -ENOMEM;
    mt_cell cell = *memo_at(graph, place) = mt_graph_follow(graph, graph->stack[graph->n - 1]);
    if (place >= graph->n_memo)
        graph->n_memo = place + 1;
    enum mt_cell_tag tag = mt_cell_tag(cell);
    struct mt_object *object =
        tag == MT_CELL_LIST || tag == MT_CELL_DICT ? object_of(graph, cell, tag) : NULL;
    if (object && !object->memo) {
        object->memo = (uint32_t)place + 1;
        graph->stack[graph->n - 1] = mt_cell_make(MT_CELL_SHARED, (int64_t)place);
    } else if (object) { /* it already has a place, by which it is known */
        *memo_at(graph, place) = mt_cell_make(MT_CELL_SHARED, (int64_t)object->memo - 1);
    }
    return 0;
}

int mt_graph_get(struct mt_graph *graph, size_t place)
{
    if (place >= graph->n_memo || !graph->memo[place / MEMO_PIECE])
        return mt_graph_fail(graph, "invalid pickle: unknown memo");
    mt_cell cell = *memo_at(graph, place), now = mt_graph_follow(graph, cell);
    bool is_shared = mt_cell_tag(now) == MT_CELL_LIST || mt_cell_tag(now) == MT_CELL_DICT;
    if (is_shared && mt_cell_tag(cell) != MT_CELL_SHARED)
        cell = mt_cell_make(MT_CELL_SHARED, (int64_t)place);
    return mt_graph_push(graph, is_shared ? cell : now);
}
