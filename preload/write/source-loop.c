/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/host/read-file.h"
#include "writer-parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH 32u /* of nested blocks; deeper ones are ignored */
#define LINE_SIZE 512

struct blocks {
    unsigned n;
    struct {
        unsigned indent;
        enum { OTHER, FOR, WHILE, FUNCTION } kind;
    } block[DEPTH];
};

static bool begins(const char *text, const char *word)
{
    return !strncmp(text, word, strlen(word));
}

/* Add the next line. Every line is kept, whether or not it opens a block: only less indented lines
 * enclose a later one. */
static void add_line(struct blocks *blocks, unsigned indent, const char *text)
{
    while (blocks->n && blocks->block[blocks->n - 1].indent >= indent)
        blocks->n--;
    if (blocks->n == DEPTH)
        return;
    if (begins(text, "async "))
        text += strlen("async ");
    blocks->block[blocks->n].indent = indent;
    blocks->block[blocks->n].kind = begins(text, "for ")                               ? FOR
                                    : begins(text, "while ") || begins(text, "while(") ? WHILE
                                    : begins(text, "def ") || begins(text, "class ")   ? FUNCTION
                                                                                       : OTHER;
    blocks->n++;
}

static enum mt_loop innermost(const struct blocks *blocks)
{
    for (unsigned i = blocks->n - 1; i-- > 0 && blocks->block[i].kind != FUNCTION;)
        if (blocks->block[i].kind != OTHER)
            return blocks->block[i].kind == FOR ? MT_LOOP_COUNTED : MT_LOOP_OPEN;
    return MT_LOOP_NONE;
}

enum mt_loop mt_loop_around(const char *path, unsigned line)
{
    char text[LINE_SIZE];
    struct mt_lines lines;
    struct blocks blocks = {0};
    enum mt_loop loop = MT_LOOP_NONE;
    struct stat status;
    if (stat(path, &status) || !S_ISREG(status.st_mode)) /* a pipe would block */
        return MT_LOOP_NONE;
    mt_lines_open(&lines, path);
    for (unsigned i = 1; i <= line && mt_lines_next(&lines, text, sizeof text); i++) {
        unsigned indent = (unsigned)strspn(text, " \t");
        const char *code = text + indent;
        if (i < line && (!*code || *code == '#' || *code == '\n'))
            continue;
        add_line(&blocks, indent, code);
        if (i < line)
            continue;
        unsigned own = blocks.block[blocks.n - 1].kind;
        if (own == WHILE) /* its condition reads the value */
            loop = MT_LOOP_OPEN;
        else if (own == OTHER && strstr(code, " for ")) /* a comprehension */
            loop = MT_LOOP_COUNTED;
        else
            loop = innermost(&blocks);
    }
    mt_lines_close(&lines);
    return loop;
}
