/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a pickle or JSON text, as far as they must be kept: a dictionary is passed on as
 * soon as it is complete, and replaced by the result. No code is run. All functions return 0 or a
 * negative errno; for -EBADMSG, graph->error has a message.
 */
#ifndef MT_GRAPH_H
#define MT_GRAPH_H

#include "analyzer/query/texts.h"

#include <stdbool.h>

/* A value: its tag in the low bits. */
typedef uint64_t mt_cell;
enum mt_cell_tag {
    MT_CELL_GONE,   /* ignored: None, a tuple of numbers */
    MT_CELL_NUMBER, /* signed, of 60 bits */
    MT_CELL_MILLI,  /* the same, thousandths */
    MT_CELL_TEXT,   /* its place in graph->texts */
    MT_CELL_LIST,   /* an object */
    MT_CELL_DICT,
    MT_CELL_MARK,
    MT_CELL_RECORD, /* the receiver's result for a dictionary: its kind and a number */
    MT_CELL_PLACE,  /* the receiver's result for a list */
    MT_CELL_PAIR,   /* a tuple of two numbers below 2^28: the first times 2^28, plus the second */
    MT_CELL_KILO,   /* a number that needs more bits, in thousands */
    MT_CELL_SHARED, /* a list or dictionary that may be referred to again: its place in the memo,
                       which has the current value */
};

static inline mt_cell mt_cell_make(enum mt_cell_tag tag, int64_t value)
{
    return (uint64_t)value << 4 | tag;
}

static inline enum mt_cell_tag mt_cell_tag(mt_cell cell)
{
    return (enum mt_cell_tag)(cell & 15);
}

static inline int64_t mt_cell_value(mt_cell cell)
{
    return (int64_t)cell >> 4;
}

static inline mt_cell mt_cell_record(unsigned kind, uint64_t number)
{
    return mt_cell_make(MT_CELL_RECORD, (int64_t)(number << 4 | kind));
}

static inline unsigned mt_record_kind(mt_cell cell)
{
    return mt_cell_tag(cell) == MT_CELL_RECORD ? (unsigned)(cell >> 4) & 15 : 0;
}

static inline uint64_t mt_record_number(mt_cell cell)
{
    return cell >> 8;
}

/* A list or dictionary. Records of one kind with consecutive numbers are stored as a range. */
struct mt_object {
    mt_cell *items; /* for a dictionary, alternating keys and values */
    size_t n, capacity;
    uint32_t memo; /* its place in the memo + 1; 0: nothing can refer to it again */
    uint8_t tag;   /* MT_CELL_GONE: the object is free */
    uint8_t kind;  /* of a range; 0: there is none */
    uint64_t first, count;
};

struct mt_graph;
/* Receive a complete dictionary of n keys and values; *made replaces it. Return 0 or a negative
 * errno. */
typedef int mt_dict_taker(void *data, struct mt_graph *graph, const mt_cell *items, size_t n,
                          mt_cell *made);

struct mt_graph {
    mt_dict_taker *take;
    void *data;
    struct mt_texts texts;
    size_t text_bytes;
    mt_cell *stack;
    size_t n, capacity;
    struct mt_object *object;
    size_t n_objects, objects_capacity;
    uint32_t *free_objects;
    size_t n_free, free_capacity;
    mt_cell **memo; /* chunks, since there are tens of millions */
    size_t n_memo, memo_capacity;
    size_t n_items; /* of all objects */
    char *scratch;
    size_t scratch_capacity;
    char error[160];
};

void mt_graph_clear(struct mt_graph *graph);
__attribute__((format(printf, 2, 3))) int mt_graph_fail(struct mt_graph *graph, const char *format,
                                                        ...);

int mt_graph_push(struct mt_graph *graph, mt_cell cell);
int mt_graph_push_number(struct mt_graph *graph, int64_t value);
int mt_graph_push_text(struct mt_graph *graph, const char *text, size_t size);
int mt_graph_push_new(struct mt_graph *graph, enum mt_cell_tag tag);

/* Append as the pickle opcodes do: move the values above the last mark, or the last n, into the
 * container below them. */
int mt_graph_append(struct mt_graph *graph, bool above_mark);
int mt_graph_set(struct mt_graph *graph, bool above_mark);
int mt_graph_tuple(struct mt_graph *graph, size_t n);
int mt_graph_tuple_above_mark(struct mt_graph *graph);
int mt_graph_pop(struct mt_graph *graph);
int mt_graph_pop_mark(struct mt_graph *graph);
int mt_graph_put(struct mt_graph *graph, size_t place);
int mt_graph_get(struct mt_graph *graph, size_t place);

/* Return a cell's current value: if it is shared, the value at its place in the memo. */
mt_cell mt_graph_follow(const struct mt_graph *graph, mt_cell cell);

/* Return a cell's text, or "" if it is not a text. */
const char *mt_graph_text(const struct mt_graph *graph, mt_cell cell);

/* Return a list's object, or NULL if the cell is not a list. */
struct mt_object *mt_graph_list(struct mt_graph *graph, mt_cell cell);

/* Replace a list by the result made from it. */
void mt_graph_replace(struct mt_graph *graph, mt_cell list, mt_cell made);

#endif
