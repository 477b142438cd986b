/* SPDX-License-Identifier: Apache-2.0 */
#include "source-loop.h"
#include "preload/host/read-file.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_SIZE 512

static enum mt_loop innermost(const struct mt_source_blocks *blocks)
{
    for (unsigned i = blocks->n - 1; i-- > 0 && blocks->block[i].kind != MT_SOURCE_FUNCTION;)
        if (blocks->block[i].kind != MT_SOURCE_OTHER)
            return blocks->block[i].kind == MT_SOURCE_FOR ? MT_LOOP_COUNTED : MT_LOOP_OPEN;
    return MT_LOOP_NONE;
}

/* Read a file up to a line, which is put into text of LINE_SIZE bytes. Return whether it has that
 * line. */
static bool read_until(struct mt_source_blocks *blocks, const char *path, unsigned line, char *text)
{
    struct mt_lines lines;
    struct stat status;
    unsigned i = 0;
    blocks->n = 0;
    if (!line || stat(path, &status) || !S_ISREG(status.st_mode)) /* a pipe would block */
        return false;
    mt_lines_open(&lines, path);
    while (i < line && mt_lines_next(&lines, text, LINE_SIZE)) {
        i++;
        mt_source_add(blocks, i, text, i == line);
    }
    mt_lines_close(&lines);
    return i == line && blocks->n;
}

enum mt_loop mt_loop_around(const char *path, unsigned line)
{
    char text[LINE_SIZE];
    struct mt_source_blocks blocks;
    if (!read_until(&blocks, path, line, text))
        return MT_LOOP_NONE;
    enum mt_source_kind own = blocks.block[blocks.n - 1].kind;
    if (own == MT_SOURCE_WHILE) /* its condition reads the value */
        return MT_LOOP_OPEN;
    if (own == MT_SOURCE_OTHER && strstr(text, " for ")) /* a comprehension */
        return MT_LOOP_COUNTED;
    return innermost(&blocks);
}

void mt_loop_describe_line(const char *path, unsigned line, struct mt_source_facts *out)
{
    char text[LINE_SIZE];
    struct mt_source_blocks blocks;
    *out = (struct mt_source_facts){0};
    if (read_until(&blocks, path, line, text))
        mt_source_describe(&blocks, text, out);
}
