/* SPDX-License-Identifier: Apache-2.0 */
/* The library that requested memory from CUDA. */
#include "analyzer/support/text.h"
#include "definitions.h"
#include "trace-format/meaning/marks.h"

static const struct mt_frame *library_frame(const struct mt_definitions *definitions,
                                            uint32_t stack)
{
    for (; stack; stack = mt_stack(definitions, stack)->parent) {
        const struct mt_frame *frame = mt_stack_frame(definitions, stack);
        if (!frame->is_native)
            return NULL;
        if (!(frame->marks & MT_MARK_FRAMEWORK))
            return frame;
    }
    return NULL;
}

const char *mt_library_of(const struct mt_definitions *definitions, uint32_t stack)
{
    const struct mt_frame *frame = library_frame(definitions, stack);
    return frame ? mt_last_part(mt_trace_image(definitions, frame->image).path) : NULL;
}

bool mt_is_of_library(const struct mt_definitions *definitions, uint32_t stack)
{
    const struct mt_frame *frame = library_frame(definitions, stack);
    return frame && frame->marks & (MT_MARK_MATH_LIBRARY | MT_MARK_NCCL);
}
