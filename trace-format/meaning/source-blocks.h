/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops around a line of source, by its indentation: of Python, and of C as most people write
 * it. Read the file's lines in order up to that line.
 */
#ifndef MT_SOURCE_BLOCKS_H
#define MT_SOURCE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The info record "loop:FILE:LINE=19,12" of a line of Python: the lines that begin the loops around
 * it in its function, the innermost first; nothing: it is in none. */
#define MT_LOOP_INFO "loop:"

#define MT_SOURCE_DEPTH 32u /* of blocks, one in the other; deeper ones are left out */

enum mt_source_kind { MT_SOURCE_OTHER, MT_SOURCE_FOR, MT_SOURCE_WHILE, MT_SOURCE_FUNCTION };

struct mt_source_blocks {
    unsigned n;
    struct {
        uint32_t line;
        unsigned indent;
        enum mt_source_kind kind;
    } block[MT_SOURCE_DEPTH];
};

static inline bool mt_source_begins(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

static inline enum mt_source_kind mt_source_kind_of(const char *text)
{
    if (mt_source_begins(text, "async "))
        text += strlen("async ");
    if (mt_source_begins(text, "for ") || mt_source_begins(text, "for("))
        return MT_SOURCE_FOR;
    if (mt_source_begins(text, "while ") || mt_source_begins(text, "while(") ||
        mt_source_begins(text, "do {") || !strcmp(text, "do"))
        return MT_SOURCE_WHILE;
    return mt_source_begins(text, "def ") || mt_source_begins(text, "class ") ? MT_SOURCE_FUNCTION
                                                                              : MT_SOURCE_OTHER;
}

/* Add the next line. Each line is kept, whether or not it begins a block: only what is less
 * indented is around a later one. is_last: the line that is asked for, which may be empty. */
static inline void mt_source_add(struct mt_source_blocks *blocks, uint32_t line, const char *text,
                                 bool is_last)
{
    unsigned indent = (unsigned)strspn(text, " \t");
    const char *code = text + indent;
    if (!is_last && (!*code || *code == '#' || *code == '\n' || *code == '{'))
        return;
    while (blocks->n && blocks->block[blocks->n - 1].indent >= indent)
        blocks->n--;
    if (blocks->n == MT_SOURCE_DEPTH)
        return;
    blocks->block[blocks->n].line = line;
    blocks->block[blocks->n].indent = indent;
    blocks->block[blocks->n].kind = mt_source_kind_of(code);
    blocks->n++;
}

/* Write the lines that begin the loops around the last line, the innermost first: a line that
 * begins one runs in it, and a comprehension is one. Return how many. */
static inline unsigned mt_source_loops(const struct mt_source_blocks *blocks, const char *text,
                                       uint32_t out[MT_SOURCE_DEPTH])
{
    unsigned n = 0;
    for (unsigned i = blocks->n; i-- > 0 && n < MT_SOURCE_DEPTH;) {
        enum mt_source_kind kind = blocks->block[i].kind;
        bool is_own = i + 1 == blocks->n;
        if (kind == MT_SOURCE_FUNCTION && !is_own)
            break;
        if (kind == MT_SOURCE_FOR || kind == MT_SOURCE_WHILE ||
            (is_own && kind == MT_SOURCE_OTHER && strstr(text, " for ")))
            out[n++] = blocks->block[i].line;
    }
    return n;
}

#endif
