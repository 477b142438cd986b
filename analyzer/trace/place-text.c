/* SPDX-License-Identifier: Apache-2.0 */
/* A stack's line of code, module and library, in the words of reports. */
#include "analyzer/support/text.h"
#include "definitions.h"
#include "trace-format/meaning/marks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *mt_stack_module(const struct mt_definitions *d, uint32_t stack)
{
    const char *called = mt_frame(d, mt_stack(d, stack)->call)->called;
    return called ? called : "";
}

void mt_place_text(char *out, size_t size, const struct mt_definitions *d, uint32_t stack)
{
    const struct mt_frame *frame = mt_named_frame(d, mt_stack(d, stack)->frame);
    const char *file = mt_last_part(frame->file);
    if (!mt_stack(d, stack)->depth)
        snprintf(out, size, "unknown");
    else if (frame->is_gap || (frame->is_native && !frame->is_named))
        snprintf(out, size, "%s", frame->function);
    else if (frame->line)
        snprintf(out, size, "%s:%u %s", file, frame->line, frame->function);
    else
        snprintf(out, size, "%s %s", file, frame->function);
}

void mt_named_place_text(char *out, size_t size, const struct mt_definitions *d, uint32_t name,
                         uint32_t stack)
{
    bool is_known = mt_stack(d, stack)->depth > 0;
    size_t named = 0;
    if (name)
        named =
            (size_t)snprintf(out, size, "\"%.100s\"%s", mt_string(d, name), is_known ? " " : "");
    if (!named || is_known)
        mt_place_text(out + named, size - named, d, stack);
}

/* Return the frame of the library that requested memory from CUDA; NULL: none did. */
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
