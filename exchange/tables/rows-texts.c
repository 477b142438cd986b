/* SPDX-License-Identifier: Apache-2.0 */
/* Every text that rows can have, known before the first of them. */
#include "analyzer/support/demangle.h"
#include "rows-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024u /* bytes of a text that is put together */

/* The text of a number, which lives until the next one is asked for; NULL: none. */
typedef const char *namer(const struct mt_rows *rows, uint32_t number, char *room);

static const char *level(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return number ? "cuda" : "pytorch";
}

static const char *category(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return mt_categories[number].name;
}

static const char *rule(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)room;
    return mt_rule_at(rows->question.rules, number)->name;
}

static const char *certainty(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return mt_certainty_name((enum mt_certainty)number);
}

static const char *phase(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return mt_phase_names[number].name;
}

static const char *dtype(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return number ? mt_dtype_name(number) : NULL;
}

static const char *kind(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)rows;
    (void)room;
    return mt_kinds[number].name;
}

static const char *known(const char *text)
{
    return *text && strcmp(text, "?") ? text : NULL;
}

static const char *function(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)room;
    return number ? known(mt_named_frame(rows->replay.definitions, number)->function) : NULL;
}

static const char *file(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)room;
    return number ? known(mt_named_frame(rows->replay.definitions, number)->file) : NULL;
}

static const char *module(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)room;
    return known(mt_stack_module(rows->replay.definitions, number));
}

/* Whether blocks have the string. Id 0 is none. */
static bool is_in(const struct mt_by_id *strings, uint32_t number)
{
    return mt_by_id_has(strings, number) && *(bool *)mt_by_id(strings, number);
}

static const char *operator(const struct mt_rows *rows, uint32_t number, char *room)
{
    if (!is_in(&rows->is_operator, number))
        return NULL;
    mt_short_type_name(mt_string(rows->replay.definitions, number), room, ROOM);
    return known(room);
}

static const char *name(const struct mt_rows *rows, uint32_t number, char *room)
{
    (void)room;
    return is_in(&rows->is_name, number) ? known(mt_string(rows->replay.definitions, number))
                                         : NULL;
}

static const char *range(const struct mt_rows *rows, uint32_t number, char *room)
{
    mt_range_text(room, ROOM, rows->replay.definitions, &rows->replay.tracker.ranges, number);
    return number ? room : NULL;
}

struct source {
    namer *text;
    uint32_t n; /* numbers */
};

static struct source source_of(const struct mt_rows *rows, enum mt_dictionary_id id)
{
    const struct mt_definitions *d = rows->replay.definitions;
    uint32_t strings = mt_definitions_string_limit(d), frames = mt_definitions_frame_limit(d);
    const struct source sources[MT_DICTIONARIES_N] = {
        [MT_DICTIONARY_LEVEL] = {level, 2},
        [MT_DICTIONARY_CATEGORY] = {category, mt_n_categories},
        [MT_DICTIONARY_RULE] = {rule, (uint32_t)mt_rules_count(rows->question.rules)},
        [MT_DICTIONARY_CERTAINTY] = {certainty, MT_GUESS + 1},
        [MT_DICTIONARY_PHASE] = {phase, MT_PHASE_STEP + 1},
        [MT_DICTIONARY_DTYPE] = {dtype, MT_DTYPE_LIMIT},
        [MT_DICTIONARY_KIND] = {kind, MT_KIND_LIMIT},
        [MT_DICTIONARY_FUNCTION] = {function, frames},
        [MT_DICTIONARY_FILE] = {file, frames},
        [MT_DICTIONARY_MODULE] = {module, mt_definitions_stack_limit(d)},
        [MT_DICTIONARY_OPERATOR] =
            {
                operator,
                strings },
                [MT_DICTIONARY_NAME] = {name, strings},
                [MT_DICTIONARY_RANGE] = {range, (uint32_t)rows->replay.tracker.ranges.n_ranges},
        };
    return sources[id];
}

static int fill(struct mt_rows *rows, enum mt_dictionary_id id)
{
    struct mt_dictionary *dictionary = &rows->dictionary[id];
    struct source source = source_of(rows, id);
    char room[ROOM];
    dictionary->of = calloc((size_t)source.n + 1, sizeof *dictionary->of);
    if (!dictionary->of)
        return -ENOMEM;
    dictionary->n = source.n;
    for (uint32_t number = 0; number < source.n; number++) {
        const char *text = source.text(rows, number, room);
        uint32_t place;
        if (!text)
            continue;
        if (mt_texts_add(&dictionary->texts, text, &place))
            return -ENOMEM;
        dictionary->of[number] = place + 1;
    }
    return 0;
}

int mt_rows_make_texts(struct mt_rows *rows)
{
    int rc = 0;
    for (unsigned id = 0; id < MT_DICTIONARIES_N && !rc; id++)
        rc = fill(rows, (enum mt_dictionary_id)id);
    return rc;
}

static const struct mt_texts *texts_of(const struct mt_rows *rows, enum mt_table_id table,
                                       unsigned column)
{
    static const char *const names[] = {
#define NAME(id, text) text,
        MT_DICTIONARIES(NAME)
#undef NAME
    };
    unsigned id = 0;
    while (id + 1 < MT_DICTIONARIES_N && strcmp(names[id], mt_tables[table].column[column].name))
        id++;
    return &rows->dictionary[id].texts;
}

size_t mt_rows_texts(const struct mt_rows *rows, enum mt_table_id table, unsigned column)
{
    return texts_of(rows, table, column)->n;
}

const char *mt_rows_text(const struct mt_rows *rows, enum mt_table_id table, unsigned column,
                         size_t index)
{
    return texts_of(rows, table, column)->text[index];
}
