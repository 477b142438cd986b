/* SPDX-License-Identifier: Apache-2.0 */
#include "properties.h"
#include "analyzer/classify/modules.h"
#include "analyzer/model/ranges.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"
#include "trace-format/dtypes.h"

#include <stdio.h>
#include <string.h>

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
    case MT_BY_MODULE:
        return mt_block_module(d, verdict);
    case MT_BY_NAME:
        return block->name;
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

static const char *written(enum mt_property property, const struct mt_naming *naming,
                           uint32_t number, char room[MT_PROPERTY_TEXT])
{
    const struct mt_definitions *d = naming->definitions;
    if (!number)
        return NULL;
    if (property == MT_BY_OPERATOR)
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

struct mt_sum mt_sum_of_block(const struct mt_naming *naming, const enum mt_property *by,
                              unsigned n_by, const struct mt_verdict *verdict)
{
    struct mt_sum sum = {.stack = mt_line_stack(naming->definitions, verdict->block),
                         .guess = mt_guess_of(verdict),
                         .copy = mt_copy_of(verdict),
                         .unused = verdict->unused,
                         .certainty = mt_certainty_of(verdict->rule)};
    for (unsigned i = 0; i < n_by; i++)
        sum.key[i] = mt_property(naming, by[i], verdict);
    return sum;
}

int mt_sum_blocks(struct mt_sums *sums, const struct mt_naming *naming, const enum mt_property *by,
                  unsigned n_by, const struct mt_verdict *verdicts, size_t n)
{
    int rc = 0;
    *sums = (struct mt_sums){0};
    for (size_t i = 0; i < n && !rc; i++) {
        const struct mt_sum block = mt_sum_of_block(naming, by, n_by, &verdicts[i]);
        rc = mt_sums_add(sums, verdicts[i].block->size, &block);
    }
    mt_sums_sort(sums);
    return rc;
}
