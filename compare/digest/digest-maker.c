/* SPDX-License-Identifier: Apache-2.0 */
#include "digest-maker.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/text.h"
#include "analyzer/trace/comparable-names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame_text {
    const struct mt_digest_maker *taker;
    bool with_lines;
};

/* Write "function (file:line)", or without its line; no ';', which separates frames. */
static int write_frame(FILE *out, const void *data, uint32_t stack)
{
    const struct frame_text *how = data;
    const struct mt_definitions *definitions = how->taker->definitions;
    char function[1024], file[1024], line[16] = "";
    const struct mt_frame *frame = mt_named_frame(definitions, mt_stack(definitions, stack)->frame);
    mt_comparable_function(function, sizeof function, frame);
    mt_comparable_file(file, sizeof file, frame->file, how->taker->directory);
    if (frame->line && how->with_lines)
        snprintf(line, sizeof line, ":%u", frame->line);
    mt_put_text(out, function, MT_FOR_FOLDED);
    fputs(" (", out);
    mt_put_text(out, file, MT_FOR_FOLDED);
    fprintf(out, "%s)", line);
    return 0;
}

/* Each stack is a separate text here, so many deep stacks with common callers, as in a recursion,
 * are expensive. Omit the middle of a deep stack. Once all texts have MOST_TEXT bytes, keep only
 * the innermost frames. */
#define MOST_FRAMES 256u
#define OUTERMOST 64u
#define INNERMOST 16u
#define MOST_TEXT (UINT64_C(32) << 20)

/* Write a stack's frames. Return 0 or a negative errno. */
static int write_frames(FILE *out, const struct mt_digest_maker *taker, uint32_t stack,
                        bool with_lines)
{
    uint32_t depth = mt_stack(taker->definitions, stack)->depth, head = depth, tail = 0;
    if (*taker->text > MOST_TEXT && depth > INNERMOST) {
        head = 0;
        tail = INNERMOST;
    } else if (depth > MOST_FRAMES) {
        head = OUTERMOST;
        tail = MOST_FRAMES - OUTERMOST;
    }
    *taker->cut += with_lines && head + tail < depth;
    const struct frame_text how = {taker, with_lines};
    return mt_fold_stack(out, taker->frames[!with_lines], taker->definitions, stack, head, tail,
                         write_frame, &how);
}

char *mt_maker_stack(const struct mt_digest_maker *taker, const char *first, uint32_t stack,
                     bool with_lines)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(first, out);
    int rc = write_frames(out, taker, stack, with_lines);
    if (!mt_close_memory(out) && !rc) {
        *taker->text += size - 1;
        return text;
    }
    free(text);
    return NULL;
}

char *mt_maker_operator(const struct mt_digest_maker *taker, uint32_t node_name)
{
    char name[256] = "";
    if (node_name)
        mt_short_type_name(mt_string(taker->definitions, node_name), name, sizeof name);
    return strdup(name);
}

int mt_maker_line(const struct mt_digest_maker *taker, uint32_t stack, char **function, char **file,
                  uint32_t *line)
{
    char text[4096];
    const struct mt_frame *frame =
        mt_named_frame(taker->definitions, mt_stack(taker->definitions, stack)->frame);
    mt_comparable_function(text, sizeof text, frame);
    *function = strdup(text);
    mt_comparable_file(text, sizeof text, frame->file, taker->directory);
    *file = strdup(text);
    *line = frame->line;
    return *function && *file ? 0 : -ENOMEM;
}
