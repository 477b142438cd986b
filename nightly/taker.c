/* SPDX-License-Identifier: Apache-2.0 */
#include "taker.h"
#include "analyzer/demangle.h"
#include "names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "function (file:line)", or without its line; no ';', which stands between frames. */
static void write_frame(FILE *out, const struct mt_taker *taker, uint32_t stack, int with_lines)
{
    char function[1024], file[1024], line[16] = "";
    const struct mt_frame *frame =
        mt_named_frame(taker->definitions, mt_stack(taker->definitions, stack)->frame);
    mt_comparable_function(function, sizeof function, frame);
    mt_comparable_file(file, sizeof file, frame->file, taker->directory);
    if (frame->line && with_lines)
        snprintf(line, sizeof line, ":%u", frame->line);
    char *texts[] = {function, file};
    for (size_t i = 0; i < 2; i++)
        for (char *at = texts[i]; *at; at++)
            if (*at == ';' || (unsigned char)*at < ' ')
                *at = '?';
    fprintf(out, "%s (%s%s)", function, file, line);
}

static void write_frames(FILE *out, const struct mt_taker *taker, uint32_t stack, int with_lines)
{
    uint32_t parent = mt_stack(taker->definitions, stack)->parent;
    if (!mt_stack(taker->definitions, stack)->depth)
        return;
    if (parent) {
        write_frames(out, taker, parent, with_lines);
        putc(';', out);
    }
    write_frame(out, taker, stack, with_lines);
}

/* The stack from its outermost frame on, after `first`. */
char *mt_taker_stack(const struct mt_taker *taker, const char *first, uint32_t stack,
                     int with_lines)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs(first, out);
    write_frames(out, taker, stack, with_lines);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}

char *mt_taker_operator(const struct mt_taker *taker, uint32_t node_name)
{
    char name[256] = "";
    if (node_name)
        mt_short_type_name(mt_string(taker->definitions, node_name), name, sizeof name);
    return strdup(name);
}

int mt_taker_line(const struct mt_taker *taker, uint32_t stack, char **function, char **file,
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
