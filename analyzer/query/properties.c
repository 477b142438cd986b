/* SPDX-License-Identifier: Apache-2.0 */
#include "properties.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/ranges.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"
#include "trace-format/dtypes.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *unknown;
} properties[] = {[MT_BY_SITE] = {"site", ""},
#define ROW(id, name, unknown) [MT_BY_##id] = {name, unknown},
                  MT_PROPERTIES(ROW)
#undef ROW
};

const char *mt_property_name(enum mt_property property)
{
    return properties[property].name;
}

const char *mt_property_unknown(enum mt_property property)
{
    return properties[property].unknown;
}

static uint32_t line_frame(const struct mt_definitions *d, const struct mt_block *block)
{
    return mt_stack(d, mt_line_stack(d, block))->frame;
}

/* Return the stack's number. Blocks that autograd's own threads make have their forward call's
 * stack, and 1 behind it. */
static uint32_t stack_number(const struct mt_definitions *d, const struct mt_block *block)
{
    if (mt_stack(d, block->stack)->depth)
        return block->stack << 1;
    return block->forward_stack ? block->forward_stack << 1 | 1 : 0;
}

uint32_t mt_property(const struct mt_naming *naming, enum mt_property property,
                     const struct mt_verdict *verdict)
{
    const struct mt_definitions *d = naming->definitions;
    const struct mt_block *block = verdict->block;
    switch (property) {
    case MT_BY_CATEGORY:
        return verdict->rule->category;
    case MT_BY_CERTAINTY:
        return verdict->rule->certainty;
    case MT_BY_DTYPE:
        return block->dtype;
    case MT_BY_FILE:
    case MT_BY_FUNCTION:
        return line_frame(d, block);
    case MT_BY_LAYER:
    case MT_BY_MODULE:
        return mt_block_module(d, verdict);
    case MT_BY_LINE:
        return mt_line_stack(d, block);
    case MT_BY_NAME:
        return block->name;
    case MT_BY_OPERATION:
        return block->node_name ? block->node_name << 1 : block->stack << 1 | 1;
    case MT_BY_OPERATOR:
        return block->node_name;
    case MT_BY_PHASE:
        return block->birth->when.phase;
    case MT_BY_RANGE:
        return block->range;
    case MT_BY_RULE:
        return (uint32_t)mt_rule_index(naming->rules, verdict->rule);
    case MT_BY_STACK:
        return stack_number(d, block);
    case MT_BY_BLAMED:
        return mt_blamed_stack(block);
    case MT_BY_PLACE:
        return mt_stack_place(d, mt_line_stack(d, block));
    case MT_BY_SAVER:
        return mt_saver_stack(d, block);
    case MT_BY_SURE:
        return !mt_guess_of(verdict);
    default:
        return 0;
    }
}

static const char *known(const char *text)
{
    return *text && strcmp(text, "?") ? text : NULL;
}

/* Write a module's path with "*" for each part that is a number. */
static void layer_text(char out[MT_PROPERTY_TEXT], const char *module)
{
    size_t n = 0;
    for (const char *at = module; *at && n < MT_PROPERTY_TEXT - 1;) {
        size_t digits = at == module || at[-1] == '.' ? strspn(at, "0123456789") : 0;
        bool is_number = digits && (!at[digits] || at[digits] == '.');
        out[n++] = '*';
        if (!is_number)
            out[n - 1] = *at;
        at += is_number ? digits : 1;
    }
    out[n] = '\0';
}

void mt_operation_text(char *out, size_t size, const struct mt_definitions *definitions,
                       uint32_t node_name, uint32_t stack)
{
    if (node_name)
        mt_short_type_name(mt_string(definitions, node_name), out, size);
    else
        snprintf(out, size, "%s", mt_stack_frame(definitions, stack)->function);
}

static const char *written(enum mt_property property, const struct mt_naming *naming,
                           uint32_t number, char room[MT_PROPERTY_TEXT])
{
    const struct mt_definitions *d = naming->definitions;
    if (!number)
        return NULL;
    if (property == MT_BY_LAYER)
        layer_text(room, mt_stack_module(d, number));
    else if (property == MT_BY_LINE)
        mt_place_text(room, MT_PROPERTY_TEXT, d, number);
    else if (property == MT_BY_OPERATION)
        mt_operation_text(room, MT_PROPERTY_TEXT, d, number & 1 ? 0 : number >> 1, number >> 1);
    else if (property == MT_BY_OPERATOR)
        mt_short_type_name(mt_string(d, number), room, MT_PROPERTY_TEXT);
    else if (property == MT_BY_RANGE)
        mt_range_text(room, MT_PROPERTY_TEXT, d, naming->ranges, number);
    else
        snprintf(room, MT_PROPERTY_TEXT, "%u%s", number >> 1,
                 number & 1 ? ", in its backward" : "");
    return known(room);
}

const char *mt_property_text(const struct mt_naming *naming, enum mt_property property,
                             uint32_t number, char room[MT_PROPERTY_TEXT])
{
    const struct mt_definitions *d = naming->definitions;
    switch (property) {
    case MT_BY_CATEGORY:
        return mt_categories[number].name;
    case MT_BY_CERTAINTY:
        return mt_certainty_name((enum mt_certainty)number);
    case MT_BY_DTYPE:
        return number ? mt_dtype_name(number) : NULL;
    case MT_BY_FILE:
        return known(mt_named_frame(d, number)->file);
    case MT_BY_FUNCTION:
        return known(mt_named_frame(d, number)->function);
    case MT_BY_MODULE:
        return known(mt_stack_module(d, number));
    case MT_BY_NAME:
        return number ? known(mt_string(d, number)) : NULL;
    case MT_BY_PHASE:
        return mt_phase_names[number].name;
    case MT_BY_RULE:
        return mt_rule_at(naming->rules, number)->name;
    default:
        return written(property, naming, number, room);
    }
}

const char *mt_property_label(const struct mt_naming *naming, enum mt_property property,
                              uint32_t number, char room[MT_PROPERTY_TEXT])
{
    return property == MT_BY_CATEGORY ? mt_categories[number].label
                                      : mt_property_text(naming, property, number, room);
}
