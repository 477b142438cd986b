/* SPDX-License-Identifier: Apache-2.0 */
#include "life-names.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/demangle.h"

#include <stdio.h>
#include <string.h>

struct mt_block mt_life_block(const struct mt_life *life)
{
    return (struct mt_block){.birth = &mt_no_birth,
                             .stack = life->stack,
                             .forward_stack = life->forward_stack,
                             .node_name = life->node_name,
                             .name = life->name,
                             .size = life->size};
}

static uint32_t line_stack(const struct mt_definitions *definitions, const struct mt_life *life)
{
    const struct mt_block block = mt_life_block(life);
    return mt_line_stack(definitions, &block);
}

void mt_life_line(const struct mt_definitions *definitions, const struct mt_life *life,
                  char out[MT_LIFE_TEXT])
{
    mt_named_place_text(out, MT_LIFE_TEXT, definitions, life->name, line_stack(definitions, life));
}

const struct mt_frame *mt_life_frame(const struct mt_definitions *definitions,
                                     const struct mt_life *life)
{
    return mt_named_frame(definitions, mt_stack(definitions, line_stack(definitions, life))->frame);
}

void mt_frame_place(char out[MT_LIFE_TEXT], const struct mt_frame *frame)
{
    const char *slash = strrchr(frame->file, '/');
    if (frame->line)
        snprintf(out, MT_LIFE_TEXT, "%s:%u", slash ? slash + 1 : frame->file, frame->line);
    else
        snprintf(out, MT_LIFE_TEXT, "%s", slash ? slash + 1 : frame->file);
}

void mt_life_operator(const struct mt_definitions *definitions, const struct mt_life *life,
                      char out[MT_LIFE_TEXT])
{
    if (life->node_name)
        mt_short_type_name(mt_string(definitions, life->node_name), out, MT_LIFE_TEXT);
    else
        snprintf(out, MT_LIFE_TEXT, "%s", mt_stack_frame(definitions, life->stack)->function);
}
